//! Texts as WebVTT has them: few tags, everything else escaped (API.md 17.17).

/// A text for WebVTT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VttText {
    pub(super) text: String,
    /// True if the text is at the top of the picture.
    pub(super) is_at_top: bool,
}

/// Rewrites a text for WebVTT.
pub(super) fn vtt_text(text: &str) -> VttText {
    let mut out = String::with_capacity(text.len());
    let mut is_at_top = false;
    let mut rest = text;
    while let Some(at) = rest.find(['<', '>', '&', '{']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (written, length) = match markup(rest) {
            Some(markup) => {
                is_at_top |= has_top_alignment(&rest[..markup.bytes]);
                (markup.written, markup.bytes)
            }
            None => match rest.as_bytes()[0] {
                b'<' => ("&lt;".into(), 1),
                b'>' => ("&gt;".into(), 1),
                b'&' => ("&amp;".into(), 1),
                _ => ("{".into(), 1),
            },
        };
        out.push_str(&written);
        rest = &rest[length..];
    }
    out.push_str(rest);
    VttText {
        text: out,
        is_at_top,
    }
}

/// Markup at the start of a text: its length, and its replacement.
struct Markup {
    bytes: usize,
    written: String,
}

fn markup(text: &str) -> Option<Markup> {
    if text.starts_with("{\\") {
        let bytes = text.find('}')? + 1;
        return Some(Markup {
            bytes,
            written: String::new(),
        });
    }
    let inner = text.strip_prefix('<')?;
    let length = inner.find(['<', '>'])?;
    if !inner[length..].starts_with('>') {
        return None;
    }
    let inner = &inner[..length];
    let bytes = length + 2;
    let (slash, tag) = match inner.strip_prefix('/') {
        Some(tag) => ("/", tag),
        None => ("", inner),
    };
    let name_end = tag.find(|c: char| !c.is_ascii_alphabetic());
    let (name, attributes) = tag.split_at(name_end.unwrap_or(tag.len()));
    let name = name.to_ascii_lowercase();
    let is_tag = attributes.is_empty() || attributes.starts_with([' ', '\t', '=']);
    let is_break = name == "br" && slash.is_empty() && (is_tag || attributes == "/");
    let written = match name.as_str() {
        "b" | "i" | "u" if is_tag => format!("<{slash}{name}>"),
        "s" | "font" if is_tag => String::new(),
        _ if is_break => "\n".to_owned(),
        _ => return None,
    };
    Some(Markup { bytes, written })
}

/// Returns true for an alignment at the top of the picture.
fn has_top_alignment(markup: &str) -> bool {
    ["\\an7", "\\an8", "\\an9"]
        .iter()
        .any(|alignment| markup.contains(alignment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(vtt_text(text).text, expected, "{text}");
    }

    #[test]
    fn api_rule_17_17_few_tags_stay() {
        check("<B>a</B> <i class=x>b</I>", "<b>a</b> <i>b</i>");
        check("a<br>b<BR/>c<br />d", "a\nb\nc\nd");
        check("<font color=\"#fff\">a</font><s>b</s>", "ab");
        check("{\\an8}a{b}", "a{b}");
        check("<v Ana>a & b > c", "&lt;v Ana&gt;a &amp; b &gt; c");
        check("<bold> <b", "&lt;bold&gt; &lt;b");
        check("<b <i>a", "&lt;b <i>a");
        check("{\\an8", "{\\an8");
        check("</br><i/>", "&lt;/br&gt;&lt;i/&gt;");
    }

    #[test]
    fn api_rule_17_17_the_top_is_told_by_markup() {
        assert!(vtt_text("a{\\pos(1,2)\\an8}").is_at_top);
        assert!(vtt_text("<font \\an7>a").is_at_top);
        assert!(!vtt_text("{\\an2}a \\an8").is_at_top);
    }
}
