#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Common names of JSON fields and TSV columns, by their content (docs/scoring.md). A first line of
// TSV is a header if it consists of these names.

#include <array>
#include <span>
#include <string_view>

namespace attnscope::field_names {

using Names = std::span<const std::string_view>;

inline constexpr std::array<std::string_view, 4> queries{"query", "query_text", "query_txt",
                                                         "question"};
/// Used if none of the preceding names is present.
inline constexpr std::array<std::string_view, 4> other_queries{"q", "anchor", "sentence1", "text1"};
inline constexpr std::array<std::string_view, 8> query_ids{
    "qid", "query_id", "query-id", "queryid", "q_id", "topic", "topic_id", "topic-id"};

inline constexpr std::array<std::string_view, 6> documents{"document", "text", "passage",
                                                           "contents", "body", "segment"};
/// Used if none of the preceding names is present.
inline constexpr std::array<std::string_view, 11> other_documents{
    "doc", "doc_text", "document_text", "passage_text", "content", "d",
    "p",   "answer",   "context",       "sentence2",    "text2"};
inline constexpr std::array<std::string_view, 2> before_documents{"title", "headings"};
/// MS MARCO's passages also name the document that contains them, "docid".
inline constexpr std::array<std::string_view, 4> passage_ids{"pid", "passage_id", "passage-id",
                                                             "p_id"};
inline constexpr std::array<std::string_view, 9> document_ids{
    "docno", "docid", "doc_id", "doc-id", "document_id", "did", "d_id", "corpus-id", "corpus_id"};
inline constexpr std::array<std::string_view, 2> own_ids{"_id", "id"};  // of one part alone

inline constexpr std::array<std::string_view, 7> positives{
    "positive", "pos", "positive_passage", "positive_passages", "positive_id", "pos_id", "p"};
inline constexpr std::array<std::string_view, 8> negatives{
    "negative",          "negatives",   "neg",    "negative_passage",
    "negative_passages", "negative_id", "neg_id", "n"};

/// Known columns that hold no text.
inline constexpr std::array<std::string_view, 15> others{
    "url",       "score",  "scores",  "rank",    "label",     "labels",    "relevance", "rel",
    "iteration", "margin", "pos_pid", "neg_pid", "score_pos", "score_neg", "similarity"};

inline constexpr std::array<Names, 12> all{
    queries,     other_queries, query_ids, documents, other_documents, before_documents,
    passage_ids, document_ids,  own_ids,   positives, negatives,       others};

}  // namespace attnscope::field_names
