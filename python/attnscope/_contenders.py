# SPDX-License-Identifier: Apache-2.0
"""Python functions that AttnScope measures like its own implementations and models (docs/python.md).

    from attnscope import implementation, serve

    @implementation("mine", patterns=["full"], summary="softmax by hand")
    def mine(q, k, v, plan):
        scores = q @ k.transpose(0, 1, 3, 2) * plan.scale
        ...
        return o

    @model("my-reranker", summary="...")
    def my_reranker(folder, plan):              # loads the checkpoint once
        net = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        return lambda ids, mask, types: net(ids, mask, types).logits[:, 0]

    serve()

`attnscope run sweep.json --with mine.py` starts the file with a socket. Both processes map the memory of q, k, v and o,
or of token ids and scores, so nothing is copied. Over the socket they exchange JSON objects, one per line, and single
letters for the frequent requests.
"""
import ctypes
import json
import math
import mmap
import os
import socket
import sys
import traceback

PROTOCOL = 2
DTYPES = {"numpy": ["float32", "float16"], "torch": ["float32", "float16", "bfloat16"]}
_offers = {}


class Unusable(Exception):
    """An error whose text, one sentence, is reported to the program."""


def implementation(id, patterns=("full",), summary="", library=None, dtypes=None, supports=None,
                   prepare=None, peak_bytes=None):
    """Marks a function `(q, k, v, plan) -> o` as the implementation `id`.

    Arrays are torch tensors if the file has imported torch, otherwise NumPy's; `library` ("torch", "numpy") overrides
    this. Their shape is [batch, heads, tokens, head_dim] if the sweep's memory order is head-major, otherwise
    [tokens, heads, head_dim] over the packed batch. o has the shape and dtype of q. A function with a parameter `out`
    may write to it and return nothing. With torch, gradients come from its autograd.

    patterns    names of the patterns it supports; ["*"]: all, by `plan.mask()`
    dtypes      of float32, float16, bfloat16; default: all that the library has
    supports    a function `plan -> None`, or the reason, a sentence, why the plan is not supported
    prepare     a function `plan -> anything`, called once per plan outside the timed calls; the result is
                `plan.prepared`
    peak_bytes  a function `plan -> bytes` that a call needs in addition to its tensors; default: those of dense scores
    """
    if library is not None and library not in DTYPES:
        raise ValueError(f"library is '{library}'; it is 'torch' or 'numpy'")
    if isinstance(patterns, str):
        raise ValueError("patterns is a list of names, not one name")

    def mark(function):
        code = function.__code__ if hasattr(function, "__code__") else None
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if code else ()
        _offer(id, {"kind": "implementation", "function": function, "takes_out": "out" in names,
                    "patterns": list(patterns), "summary": summary, "library": library, "dtypes": dtypes,
                    "supports": supports, "prepare": prepare, "peak_bytes": peak_bytes})
        return function
    return mark


def model(id, patterns=("full",), summary="", library=None, dtypes=("float32",), precision=None, own_weights=False,
          supports=None, peak_bytes=None):
    """Marks a function or class as the re-ranker `id`, which sweeps of operation model have as PATTERN/id.

    `(folder, plan)` loads the sweep's weights from a checkpoint in Hugging Face's layout (config.json,
    model.safetensors; no tokenizer, because sweeps have token ids). It returns a function that every timed call calls
    with `(ids, mask, types)`, int64 [pairs, tokens], padded with 0 after each pair, and that returns the scores,
    [pairs]. The arrays are torch tensors or NumPy's, as for an implementation. Files that it writes into the folder are
    kept for the next time the same weights are loaded.

    patterns     names of the patterns it supports, as for an implementation; ["*"]: all
    dtypes       of the sweeps in which it can be measured
    precision    "int8" if it rounds to int8: a larger error of its scores is accepted and reported
    own_weights  it has its own weights: `folder` is None, and its scores are compared with those of its other calls
    supports     a function `plan -> None`, or the reason, a sentence, why the plan is not supported
    peak_bytes   a function `(plan, pairs, tokens) -> bytes` that a call needs in addition to the weights
    """
    if library is not None and library not in DTYPES:
        raise ValueError(f"library is '{library}'; it is 'torch' or 'numpy'")
    if precision not in (None, "int8"):
        raise ValueError(f"precision is '{precision}'; it is 'int8' or omitted; dtypes has the types of floats")
    if isinstance(patterns, str) or isinstance(dtypes, str):
        raise ValueError("patterns and dtypes are lists of names, not one name")

    def mark(load):
        _offer(id, {"kind": "model", "function": load, "patterns": list(patterns), "summary": summary,
                    "library": library, "dtypes": list(dtypes), "precision": precision,
                    "weights": "own" if own_weights else None, "supports": supports, "peak_bytes": peak_bytes})
        return load
    return mark


def _offer(id, offer):
    if id in _offers:
        raise ValueError(f"there are two contenders '{id}'; change the id of one")
    offer["summary"] = offer["summary"] or (offer["function"].__doc__ or "").strip().split("\n")[0]
    _offers[id] = offer


class _Problem:
    """The part that plans of implementations and of models share."""

    def __init__(self, fields):
        self.pattern = fields["pattern"]          # the content of its JSON file
        self.pattern_name = self.pattern["name"]
        window = fields["window"]
        self.window = None if window is None else math.inf if window == "inf" else int(window)
        self.dtype, self.threads = fields["dtype"], fields["threads"]


class ModelPlan(_Problem):
    """The model to load; the same object for all of its calls."""

    def __init__(self, fields):
        super().__init__(fields)
        self.layers, self.hidden, self.heads = fields["layers"], fields["hidden"], fields["heads"]
        self.feed_forward, self.vocabulary = fields["feed_forward"], fields["vocabulary"]
        self.positions = fields["positions"]      # of the weights: the longest possible pair


class Plan(_Problem):
    """The problem of a call; the same object for all calls of a contender at one point of a sweep."""

    def __init__(self, fields, request):
        super().__init__(fields)
        self.layout = fields["layout"]            # {"items": [{"cls": 1, "query": 11, "document": 500}, ...]}
        self.tokens = fields["tokens"]            # of the whole batch
        self.heads, self.head_dim, self.scale = fields["heads"], fields["head_dim"], fields["scale"]
        self.memory_order, self.direction = fields["memory_order"], fields["direction"]
        self.items = len(self.layout["items"])
        self.prepared = None
        self._request, self._rows = request, {}

    @property
    def item_tokens(self):
        """Tokens of an item, if all items have the same number."""
        return self.tokens // max(self.items, 1)

    @property
    def is_uniform(self):
        """Whether all items have the same layout, each with its own query."""
        items = self.layout["items"]
        return not self.layout.get("shared_query") and all(item == items[0] for item in items)

    @property
    def mask_heads(self):
        """The number of heads with different masks: all, or 1."""
        return self.heads if "blocks" in self.pattern else 1

    def rows(self, item=0, head=0):
        """For each token of the item the ranges of keys to which it attends: [begin, end, begin, end, ...]."""
        if (item, head) not in self._rows:
            answer = self._request({"question": "rows", "item": item, "head": head})
            if "rows" not in answer:
                raise Unusable(answer.get("error", "the program did not send the rows"))
            self._rows[item, head] = answer["rows"]
        return self._rows[item, head]

    def mask(self, item=0, head=0):
        """Which pairs are allowed, [tokens, tokens] of bool, as a NumPy array."""
        import numpy
        rows = self.rows(item, head)
        allowed = numpy.zeros((len(rows), len(rows)), dtype=bool)
        for row, keys in zip(allowed, rows):
            for begin, end in zip(keys[::2], keys[1::2]):
                row[begin:end] = True
        return allowed

    def masks(self, item=0):
        """The masks of all heads that differ, [mask_heads, tokens, tokens]."""
        import numpy
        return numpy.stack([self.mask(item, head) for head in range(self.mask_heads)])


class _Memory:
    """The growth of this process's memory during a call, as counted by the kernel."""

    def __init__(self):
        self.before, self.of_files = None, 0

    @staticmethod
    def read(name):
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
        return 0

    def start(self, reset=True):
        """Resets the peak, and the size from which growth is counted unless `reset` is false."""
        try:
            ctypes.CDLL(None).malloc_trim(0)  # releases memory kept from earlier calls
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
            if reset:
                self.before, self.of_files = self.read("VmRSS:"), self.read("RssFile:")
        except OSError:
            self.before = None

    def grown(self):
        """The growth, without pages of files, which are code that runs for the first time."""
        if self.before is None:
            return None
        return max(self.read("VmHWM:") - self.before - max(self.read("RssFile:") - self.of_files, 0), 0)


class _Callable:
    """A contender that is called repeatedly, on arrays over memory that both processes have mapped."""

    def __init__(self, offer, plan, library):
        self.offer, self.plan, self.library = offer, plan, library
        self.arrays, self.maps = {}, {}
        self.is_ready = self.keeps_blocks = False
        self.memory = _Memory()

    def flat(self, file, offset, count, dtype):
        """An array of `count` numbers at `offset` in the file."""
        if file not in self.maps:
            try:
                with open(file, "r+b") as opened:
                    self.maps[file] = mmap.mmap(opened.fileno(), 0)
            except OSError as error:
                raise Unusable(f"the tensors' memory cannot be mapped: {error.strerror}; the program must run as "
                               "the same user on the same machine") from error
        if self.library == "torch":
            import torch
            dtype = getattr(torch, dtype)
            return (torch.frombuffer(self.maps[file], dtype=dtype, count=count, offset=offset) if count
                    else torch.empty(0, dtype=dtype))
        import numpy
        return numpy.frombuffer(self.maps[file], dtype=numpy.dtype(dtype), count=count, offset=offset)

    def forward(self):
        """Calls the contender; returns its memory after the first call, otherwise None."""
        if self.is_ready:
            self.compute()
            return None
        self.begin()
        self.touch()
        if self.keeps_blocks:
            self.memory.start()
        self.compute()  # imports and compiles what it needs once
        self.forget()
        self.memory.start(reset=not self.keeps_blocks)
        self.compute()
        self.is_ready = True
        return self.grown()

    def begin(self):
        """Called before the first call."""

    def forget(self):
        """Releases the results of a call, so that they do not count for the next one."""

    def grown(self):
        grown = self.memory.grown()
        return None if grown is None else {"peak_bytes": grown}

    def touch(self):
        """Reads all arrays, because pages that are first read in a call would count as its memory."""
        for array in self.arrays.values():
            array.sum()

    def plain_types(self):
        """Tests for array types; a result must pass one of them."""
        return [PLAIN[self.library][1]]

    def check_array(self, result, expected):
        """Checks exact type and shape, because a type that computes when it is read would not be timed."""
        if not any(is_plain(result) for is_plain in self.plain_types()):
            raise Unusable(f"it returned {name_of_type(result)}, not {PLAIN[self.library][0]}: a result that is "
                           "computed only when it is read would not be timed")
        if tuple(result.shape) != tuple(expected):
            raise Unusable(f"it returned the shape {list(result.shape)} where {list(expected)} is required")


class _LoadedModel(_Callable):
    """A re-ranker with its weights."""

    def plain_types(self):
        return [is_torch_tensor, is_numpy_array]  # runtimes return NumPy arrays even if torch is imported

    def __init__(self, offer, plan, library, folder):
        super().__init__(offer, plan, library)
        self.keeps_blocks = True  # runtimes never release the memory of their first call
        self.score = offer["function"](folder, plan)
        if not callable(self.score):
            raise Unusable(f"it returned {type(self.score).__name__} when it loaded the model, which cannot be called "
                           "with (ids, mask, types)")

    def peak_bytes(self, pairs, tokens):
        peak_bytes = self.offer["peak_bytes"]
        return {"peak_bytes": None if peak_bytes is None else count_of_bytes(peak_bytes(self.plan, pairs, tokens))}

    def bind(self, request):
        """The arrays ids, mask and types follow each other in the file, then the scores."""
        self.maps = {}
        self.shape = (request["pairs"], request["tokens"])
        count = self.shape[0] * self.shape[1]
        whole = self.flat(request["file"], 0, 3 * count, "int64")
        for place, name in enumerate(("ids", "mask", "types")):
            self.arrays[name] = whole[place * count:(place + 1) * count].reshape(self.shape)
        self.scores = self.flat(request["file"], 3 * count * 8, self.shape[0], "float32")

    def compute(self):
        inputs = [self.arrays[name] for name in ("ids", "mask", "types")]
        if self.library != "torch":
            result = self.score(*inputs)
            self.check_array(result, self.shape[:1])
            self.check_scores(str(result.dtype))
            self.scores[...] = result
            return
        import torch
        with torch.inference_mode():
            result = self.score(*inputs)
            self.check_array(result, self.shape[:1])
            self.check_scores(str(result.dtype).removeprefix("torch."))
            self.scores.copy_(torch.as_tensor(result))

    def check_scores(self, dtype):
        if dtype not in ("float32", "float64", self.plan.dtype):
            raise Unusable(f"it returned scores of {dtype}; float32 or {self.plan.dtype} is required")


class _Prepared(_Callable):
    """A plan of an implementation with its arrays."""

    def __init__(self, offer, plan, library):
        super().__init__(offer, plan, library)
        self.has_run_backward = self.keeps = False
        self.result = self.gradients = None
        self.has_backward = plan.direction == "forward-backward"

    def bind(self, request):
        tensors = request["tensors"]
        self.maps = {}
        for tensor in tensors:
            self.arrays[tensor["name"]] = self.array_over(tensor)
        if {"q", "o"} & {tensor["name"] for tensor in tensors}:
            self.is_ready = False
        else:
            self.has_run_backward = False

    def array_over(self, tensor):
        plan = self.plan
        if tensor["item_tokens"]:
            shape = (plan.items, plan.heads, tensor["item_tokens"], plan.head_dim)
            strides = (tensor["item_stride"], tensor["head_stride"], tensor["token_stride"], 1)
        else:
            shape = (plan.tokens, plan.heads, plan.head_dim)
            strides = (tensor["token_stride"], tensor["head_stride"], 1)
        count = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)) if 0 not in shape else 0
        flat = self.flat(tensor["file"], tensor["offset"], count, plan.dtype)
        if self.library == "torch":
            return flat.as_strided(shape, strides)
        import numpy
        return numpy.lib.stride_tricks.as_strided(flat, shape, [stride * flat.itemsize for stride in strides])

    # Calls

    def begin(self):
        if self.offer["prepare"] is not None:
            self.plan.prepared = self.offer["prepare"](self.plan)

    def forget(self):
        self.result = self.gradients = None

    def compute(self):
        plan, arrays = self.plan, self.arrays
        inputs = [arrays[name] for name in "qkv"]
        more = {"out": arrays["o"]} if self.offer["takes_out"] else {}
        if self.library == "torch":
            import torch
            if self.has_backward:
                inputs = [tensor.detach().requires_grad_() for tensor in inputs]
                self.inputs = inputs
                result = self.offer["function"](*inputs, plan)
            else:
                with torch.inference_mode():
                    result = self.offer["function"](*inputs, plan, **more)
        else:
            result = self.offer["function"](*inputs, plan, **more)
        if result is None and not more:
            raise Unusable("it returned nothing; it must return o, or have a parameter 'out' to write to")
        if result is not None:
            self.check(result)
        self.result = result
        if not self.keeps:
            self.copy_results()

    def check(self, result):
        expected = self.arrays["o"]
        self.check_array(result, expected.shape)
        if result.dtype != expected.dtype:
            raise Unusable(f"it returned {str(result.dtype).replace('torch.', '')}, not {self.plan.dtype}")

    def backward(self):
        self.differentiate()
        answer = None
        if not self.has_run_backward:  # both passes again, with everything loaded
            self.touch()
            self.forget()
            self.memory.start()
            self.compute()
            self.differentiate()
            self.has_run_backward = True
            answer = self.grown()
        if not self.keeps:
            self.copy_results()
        return answer

    def differentiate(self):
        import torch
        self.gradients = torch.autograd.grad(self.result, self.inputs, self.arrays["grad_o"])
        for gradient in self.gradients:
            self.check_array(gradient, self.arrays["o"].shape)

    def keep(self, keeps):
        if self.keeps and not keeps:
            self.copy_results()
        self.keeps = keeps

    def copy_results(self):
        """Copies output and gradients to the arrays that the program reads."""
        if self.library == "torch":
            import torch
            with torch.no_grad():
                if self.result is not None:
                    self.arrays["o"].copy_(self.result)
                for name, gradient in zip(("grad_q", "grad_k", "grad_v"), self.gradients or ()):
                    self.arrays[name].copy_(gradient)
        elif self.result is not None:
            self.arrays["o"][...] = self.result


class _Server:
    def __init__(self, channel):
        self.channel = channel
        self.arrived = b""
        self.plans = {}
        self.current = None
        self.process = os.getpid()

    # Lines

    def line(self):
        while b"\n" not in self.arrived:
            chunk = self.channel.recv(1 << 16)
            if not chunk:
                os._exit(0)  # the program has ended
            self.arrived += chunk
        text, _, self.arrived = self.arrived.partition(b"\n")
        return text

    def send(self, message):
        if os.getpid() != self.process:
            os._exit(0)  # a fork of this process that returned here
        self.channel.sendall(json.dumps(message).encode() + b"\n")

    def request(self, question):
        self.send(question)
        return json.loads(self.line())

    # Requests

    def serve(self):
        # The letters of calls arrive one by one and are answered at once.
        channel, done = self.channel, b"d\n"
        while True:
            request = self.line()
            try:
                if request == b"p":
                    answer = None
                elif request == b"f":
                    answer = self.current.forward()
                elif request == b"b":
                    answer = self.current.backward()
                elif request == b"t":
                    answer = self.current.touch()
                else:
                    answer = self.answer(json.loads(request))
            except Unusable as error:
                answer = {"error": str(error)}
            except BaseException as error:  # also SystemExit, which the contender has raised
                answer = {"error": sentence(error)}
            if answer is None and os.getpid() == self.process:
                channel.sendall(done)
            else:
                self.send(answer)

    def answer(self, request):
        kind = request["request"]
        if kind == "hello":
            return self.greeting(request)
        if kind == "prepare":
            return self.prepare(request)
        if kind == "load":
            return self.load(request)
        plan = self.plans.get(request["plan"])
        if plan is None:
            raise Unusable(f"there is no plan {request['plan']}")
        if kind == "use":
            self.current = plan
        elif kind == "bind":
            plan.bind(request)
        elif kind == "keep":
            plan.keep(request["keeps"])
        elif kind == "peak":
            return plan.peak_bytes(request["pairs"], request["tokens"])
        elif kind == "drop":
            del self.plans[request["plan"]]
            if self.current is plan:
                self.current = None
        else:
            raise Unusable(f"there is no request '{kind}'")
        return {"done": kind}

    def greeting(self, request):
        if request["protocol"] != PROTOCOL:
            raise Unusable(f"the program has version {request['protocol']} of the contenders' protocol, this "
                           f"package {PROTOCOL}: use the package that came with the program")
        offers = {"implementation": [], "model": []}
        for id, offer in _offers.items():
            fields = {"id": id, "summary": offer["summary"], "patterns": offer["patterns"],
                      "dtypes": offer["dtypes"] or DTYPES[library_of(offer)]}
            if offer["kind"] == "model":
                fields.update({field: offer[field] for field in ("precision", "weights") if offer[field]})
            else:
                fields["backward"] = library_of(offer) == "torch" and not offer["takes_out"]
            offers[offer["kind"]].append(fields)
        about = {"python": ".".join(map(str, sys.version_info[:3]))}
        for name in ("numpy", "torch", "transformers", "sentence_transformers", "onnxruntime", "openvino"):
            if name in sys.modules:
                about[name] = str(getattr(sys.modules[name], "__version__", "?"))
        return {"protocol": PROTOCOL, "implementations": offers["implementation"], "models": offers["model"],
                "about": about}

    def prepare(self, request):
        offer = _offers[request["implementation"]]
        plan = Plan(request, self.request)
        reason = reason_against(offer, plan)
        if reason:
            raise Unusable(reason)
        self.plans[request["plan"]] = _Prepared(offer, plan, ready_library(offer, plan))
        if offer["peak_bytes"] is not None:
            return {"peak_bytes": count_of_bytes(offer["peak_bytes"](plan))}
        rows = max([sum(v if isinstance(v, int) else sum(v) for k, v in item.items() if k != "sentences")
                    for item in plan.layout["items"]] or [0]) + plan.layout.get("shared_query", 0)
        scores = plan.items * plan.heads * rows * rows * 4
        return {"peak_bytes": scores * (6 if plan.direction == "forward-backward" else 3)}

    def load(self, request):
        offer = _offers[request["model"]]
        plan = ModelPlan(request)
        reason = reason_against(offer, plan)
        if reason:
            return {"unsupported": reason}
        self.plans.pop(request["plan"], None)
        self.plans[request["plan"]] = _LoadedModel(offer, plan, ready_library(offer, plan), request["folder"])
        return {"done": "load"}


def is_numpy_array(result):
    return "numpy" in sys.modules and type(result) is sys.modules["numpy"].ndarray


def is_torch_tensor(result):
    torch = sys.modules.get("torch")
    return (torch is not None and type(result) is torch.Tensor and result.layout is torch.strided
            and result.device.type == "cpu")


# By library: the name of its array type, and a test for exactly this type, not a derived one.
PLAIN = {"numpy": ("a numpy.ndarray", is_numpy_array), "torch": ("a torch.Tensor", is_torch_tensor)}


def name_of_type(result):
    kind = type(result)
    return f"a {kind.__name__}" if kind.__module__ == "builtins" else f"a {kind.__module__}.{kind.__name__}"


def reason_against(offer, plan):
    reason = offer["supports"](plan) if offer["supports"] is not None else None
    if reason is not None and not isinstance(reason, str):
        raise Unusable(f"its supports() returned {type(reason).__name__}, where a sentence or None is required")
    return reason


def count_of_bytes(count):
    if not isinstance(count, (int, float)) or not 0 <= count < 2**62:
        raise Unusable(f"its peak_bytes() returned {count!r:.80}, where a number of bytes is required")
    return int(count)


def ready_library(offer, plan):
    """The name of the offer's library, after setting its number of threads."""
    library = library_of(offer)
    if library == "torch":
        import torch
        torch.set_num_threads(plan.threads)
    return library


def library_of(offer):
    return offer["library"] or ("torch" if "torch" in sys.modules else "numpy")


def sentence(error):
    """The exception, and the last line in a file of the contender."""
    here = os.path.abspath(__file__)
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) != here]
    text = " ".join(traceback.format_exception_only(type(error), error)[-1].split())
    if not places:
        return text
    return f"{text} ({os.path.basename(places[-1].filename)}:{places[-1].lineno})"


def serve():
    """Answers requests of the program that started this file until the program ends; never returns.

    If no program started the file, the process exits with a message on how to use it.
    """
    number = os.environ.pop("ATTNSCOPE_SERVE", None)
    if number is None:
        sys.exit("attnscope.serve() needs a program that measures: attnscope run SWEEP.json --with "
                 f"{os.path.basename(sys.argv[0])}; on another machine also name the worker there: --worker 'ssh "
                 "HOST attnscope-worker'")
    try:
        channel = socket.socket(fileno=int(number))
    except (ValueError, OSError):
        sys.exit("attnscope.serve() got no socket; let attnscope start this file")
    os.set_inheritable(channel.fileno(), False)
    try:  # this process ends with the program, even if that is killed during a call
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
    except OSError:
        pass
    _Server(channel).serve()
