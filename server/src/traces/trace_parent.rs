//! The field `traceparent` (W3C Trace Context).

/// The span of a caller that a request is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// Id of the trace; not 0.
    pub trace_id: u128,
    /// Id of the caller's span; not 0.
    pub span_id: u64,
    /// True if the caller records its span.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Reads the value of the field: `00-TRACE-SPAN-FLAGS` in lower-case hexadecimal digits. Later
    /// versions begin alike and may be longer; `None` for anything else, which counts as no field.
    ///
    /// ```
    /// use subcat_server::traces::TraceParent;
    /// let value = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// assert!(TraceParent::parse(value).is_some_and(|parent| parent.is_sampled));
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        const VERSION_0_PARTS: usize = 4;
        let mut parts = text.split('-');
        let version = hexadecimal(parts.next()?, 2)?;
        let trace_id = hexadecimal(parts.next()?, 32)?;
        let span_id = u64::try_from(hexadecimal(parts.next()?, 16)?).ok()?;
        let flags = hexadecimal(parts.next()?, 2)?;
        let is_known = version != 0xff
            && (version != 0 || text.split('-').count() == VERSION_0_PARTS)
            && trace_id != 0
            && span_id != 0;
        is_known.then_some(Self {
            trace_id,
            span_id,
            is_sampled: flags & 1 == 1,
        })
    }
}

/// A number of exactly this many lower-case digits.
fn hexadecimal(text: &str, digits_count: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != digits_count || !text.bytes().all(is_digit) {
        return None;
    }
    u128::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn check(text: &str, expected: Option<bool>) {
        let parent = TraceParent::parse(text);
        assert_eq!(parent.map(|parent| parent.is_sampled), expected, "{text}");
    }

    #[test]
    fn reads_what_the_standard_says() {
        check(&format!("00-{TRACE}-{SPAN}-01"), Some(true));
        check(&format!("00-{TRACE}-{SPAN}-00"), Some(false));
        check(&format!("00-{TRACE}-{SPAN}-03"), Some(true));
        check(&format!("01-{TRACE}-{SPAN}-01-more"), Some(true));
        let parent = TraceParent::parse(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!(parent.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!(parent.span_id, 0xb7ad_6b71_6920_3331);
    }

    #[test]
    fn anything_else_counts_as_absent() {
        check("", None);
        check(&format!("00-{TRACE}-{SPAN}"), None);
        check(&format!("00-{TRACE}-{SPAN}-01-more"), None);
        check(&format!("ff-{TRACE}-{SPAN}-01"), None);
        check(&format!("00-{}-{SPAN}-01", "0".repeat(32)), None);
        check(&format!("00-{TRACE}-{}-01", "0".repeat(16)), None);
        check(&format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None);
        check(&format!("00-{TRACE}-{SPAN}-1"), None);
        check(&format!("00-+{}-{SPAN}-01", &TRACE[1..]), None);
        check(&format!("00 {TRACE} {SPAN} 01"), None);
    }
}
