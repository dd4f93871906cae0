// SPDX-License-Identifier: Apache-2.0
#include "engine/report/html_page.h"

#include <fmt/format.h>

#include <cstdint>

#include "engine/report/number_text.h"

namespace attnscope::report {

namespace {

std::uint32_t hex_digit(char c) {
  return static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
}

/// Converts a hexadecimal hash to base64 (RFC 4648), as used in policies.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : hex) {
    held = held << 4U | hex_digit(c);
    bits += 4;
    if (bits < 6) continue;
    bits -= 6;
    text.push_back(digits[held >> static_cast<unsigned>(bits) & 63U]);
  }
  if (bits > 0) text.push_back(digits[held << static_cast<unsigned>(6 - bits) & 63U]);
  while (text.size() % 4 != 0) text.push_back('=');
  return text;
}

std::string allowed(const Resource& part) {
  return fmt::format(" 'sha256-{}'", base64_of_hex(part.sha256));
}

std::string policy_of(const PageParts& parts) {
  std::string policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src";
  for (const Resource& style : parts.styles) policy += allowed(style);
  if (parts.script) policy += "; script-src" + allowed(*parts.script);
  return policy;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(std::string(text))) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped.push_back(c);
    }
  }
  return escaped;
}

std::string html_paragraphs(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("<p>{}</p>\n", html_escaped(line));
  return text;
}

std::string html_page(std::string_view title, std::string_view body, const PageParts& parts) {
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n",
      policy_of(parts), html_escaped(title));
  for (const Resource& style : parts.styles)
    text.append("<style>").append(style.text).append("</style>\n");
  text.append("</head>\n<body>\n").append(body);
  if (parts.script) text.append("<script>").append(parts.script->text).append("</script>\n");
  return text + "</body>\n</html>\n";
}

}  // namespace attnscope::report
