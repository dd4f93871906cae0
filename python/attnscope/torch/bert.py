# SPDX-License-Identifier: Apache-2.0
"""Replaces the self-attention of a Hugging Face BERT by segment_attention: sparsify(model, window=4).

Padding never reaches the layers: after the embeddings, the tokens that attention_mask keeps are packed, as [CLS], query
and document of each item by token_type_ids. After the last layer they are unpacked, with zeros for padding. Scores are
those of `attnscope score --pattern sparse --window 4`.
"""
import torch

from attnscope.torch import layout_text, segment_attention

try:
    import transformers
    from transformers.models.bert.modeling_bert import BertModel
except ImportError as missing:
    raise ImportError(f"attnscope.torch.sparsify needs transformers ({missing}); pip install transformers") from None

_NAME = "attnscope"


class _Packing:
    """The positions of the tokens of a batch; `kept` is None if there is no padding."""

    def __init__(self, attention_mask, token_type_ids, shape, pattern, window):
        self.shape = shape
        self.pattern = pattern
        self.window = window
        types = token_type_ids.cpu().expand(shape)
        mask = torch.ones(shape, dtype=torch.bool) if attention_mask is None else attention_mask.cpu().bool()
        item, place = mask.nonzero(as_tuple=True)
        if len(item) == 0:
            raise ValueError("attnscope: the batch has no tokens, which transformers' BERT does not accept; omit it")
        of_kept = types[item, place]
        tokens = mask.sum(1)
        documents = (mask & (types == 1)).sum(1)
        falls = (of_kept[1:] < of_kept[:-1]) & (item[1:] == item[:-1])
        without_cls = ((tokens > 0) & (tokens == documents)).nonzero()[:, 0]
        wrong = torch.cat([item[1:][falls], item[(of_kept < 0) | (of_kept > 1)], without_cls])
        if len(wrong) > 0:
            raise ValueError(f"attnscope: token_type_ids of item {int(wrong.min())} are not 0 of [CLS] and the query, "
                             "then 1 of the document; encode pairs, tokenizer(queries, documents)")
        queries = tokens - documents
        items = [(min(first, 1), max(first - 1, 0), document)
                 for first, document in zip(queries.tolist(), documents.tolist())]
        self.layout = layout_text(items)
        self.kept = None
        if len(item) != shape[0] * shape[1]:
            self.kept = (item * shape[1] + place).to(token_type_ids.device)

    def pack(self, states):
        """[batch, tokens, hidden] -> [1, kept tokens, hidden]; a view if there is no padding."""
        rows = states.flatten(0, 1)
        return (rows if self.kept is None else rows.index_select(0, self.kept)).unsqueeze(0)

    def unpack(self, states):
        if states.shape[:2] == self.shape:
            return states
        rows = states[0]
        if self.kept is not None:
            rows = rows.new_zeros(self.shape[0] * self.shape[1], rows.shape[1]).index_copy(0, self.kept, rows)
        return rows.view(*self.shape, rows.shape[1])


class _Hooks:
    """The hooks of a BertModel and of its encoder."""

    def __init__(self, bert, pattern, window):
        self.pattern = pattern
        self.window = window
        self.handles = [
            bert.register_forward_pre_hook(self.enter_model, with_kwargs=True),
            bert.register_forward_hook(self.leave_model, with_kwargs=True),
            bert.encoder.register_forward_pre_hook(self.enter_encoder, with_kwargs=True),
            bert.encoder.register_forward_hook(self.leave_encoder, with_kwargs=True)]

    def enter_model(self, bert, args, kwargs):
        if bert.config._attn_implementation != _NAME:  # the user has set another implementation since
            return None
        names = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds")
        given = dict(zip(names, args)) | kwargs
        tokens = given.get("input_ids")
        if tokens is None:
            tokens = given.get("inputs_embeds")
        if tokens is None:
            return None  # transformers reports what is missing
        mask, types = given.get("attention_mask"), given.get("token_type_ids")
        shape = tokens.shape[:2]
        if types is None:
            raise ValueError("attnscope: token_type_ids are missing, which mark where the document begins; pass all "
                             "that the tokenizer returned, model(**tokenizer(queries, documents, ...))")
        if types.dim() != 2 or types.shape[1] != shape[1] or types.shape[0] not in (1, shape[0]):
            raise ValueError(f"attnscope: token_type_ids have shape {list(types.shape)}, and the batch has {list(shape)}")
        if mask is not None and mask.shape != shape:
            raise ValueError(f"attnscope: attention_mask has shape {list(mask.shape)}; a mask of padding, "
                             f"{list(shape)}, is required, because the pattern determines the mask")
        if given.get("output_attentions") or bert.config.output_attentions:
            raise ValueError("attnscope: weights are never stored, so there are no output_attentions; "
                             "'attnscope inspect' shows them")
        return args, kwargs | {_NAME: _Packing(mask, types, shape, self.pattern, self.window)}

    def leave_model(self, bert, args, kwargs, output):
        if _NAME not in kwargs:
            return output

        def unpacked(value):  # for output_hidden_states
            if not isinstance(value, tuple):
                return value
            return tuple(None if states is None else kwargs[_NAME].unpack(states) for states in value)

        if isinstance(output, tuple):
            return tuple(unpacked(value) for value in output)
        if getattr(output, "hidden_states", None) is not None:
            output.hidden_states = unpacked(output.hidden_states)
        return output

    def enter_encoder(self, encoder, args, kwargs):
        if _NAME not in kwargs:
            return None
        return (kwargs[_NAME].pack(args[0]), *args[1:]), kwargs

    def leave_encoder(self, encoder, args, kwargs, output):
        if _NAME in kwargs:
            output.last_hidden_state = kwargs[_NAME].unpack(output.last_hidden_state)
        return output


def _attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, attnscope=None, **kwargs):
    """transformers' attention interface: [1, heads, tokens, head_dim] -> [1, tokens, heads, head_dim]. q, k and v are
    views of the projections."""
    if attnscope is None:
        raise ValueError("attnscope: the attention of this name is for models that attnscope.torch.sparsify(model) "
                         "was called with")
    if dropout > 0:
        raise ValueError("attnscope: attention weights have no dropout here; set the p of every "
                         "attention.self.dropout, or the config's attention_probs_dropout_prob, to 0 before training")
    token_major = [tensor[0].transpose(0, 1) for tensor in (query, key, value)]
    o = segment_attention(*token_major, attnscope.pattern, attnscope.layout, attnscope.window, scale=scaling)
    return o.unsqueeze(0), None


def sparsify(model, window=4, pattern="sparse"):
    """Changes the model in place, so that every BertModel in it attends by the pattern, and returns it. Another call
    replaces pattern and window; model.set_attn_implementation("sdpa") restores full attention. pattern and window are
    those of segment_attention. Invalid arguments raise a TypeError or ValueError with one sentence."""
    bodies = [module for module in model.modules() if isinstance(module, BertModel)]
    if not bodies:
        raise TypeError(f"attnscope.torch.sparsify takes Hugging Face's BERT (BertModel, "
                        f"BertForSequenceClassification), and there is none in this {type(model).__name__}")
    if not getattr(BertModel, "_supports_attention_backend", False):
        raise ImportError(f"attnscope.torch.sparsify needs a transformers whose BERT has the attention interface, and "
                          f"this is {transformers.__version__}; install 5.23.0")
    nothing = torch.empty(0, 1, 8)
    segment_attention(nothing, nothing, nothing, pattern, [], window)  # both are valid and fit together
    transformers.AttentionInterface.register(_NAME, _attention)
    for bert in bodies:
        if bert.config.is_decoder:
            raise ValueError("attnscope.torch.sparsify takes encoders, and this BERT is a decoder (config.is_decoder)")
        for handle in getattr(getattr(bert, "_attnscope", None), "handles", []):
            handle.remove()
        bert.set_attn_implementation(_NAME)
        bert._attnscope = _Hooks(bert, pattern, window)
    return model
