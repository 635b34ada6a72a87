//! `Accept-Encoding`.

use http::HeaderMap;
use http::header::ACCEPT_ENCODING;
use subcat_engine::Variant;

/// Quality in thousandths.
type Quality = u16;

/// The compressed variants with a quality not below that of the plain bytes, best first (API.md,
/// compression): brotli before gzip if both have the same one; none if there is no such field.
pub fn accepted_variants(headers: &HeaderMap) -> impl Iterator<Item = Variant> + use<> {
    let mut accepted = Accepted::default();
    for value in headers.get_all(ACCEPT_ENCODING) {
        for item in value.as_bytes().split(|byte| *byte == b',') {
            accepted.take(item);
        }
    }
    let brotli = (Variant::Brotli, accepted.of(accepted.brotli));
    let gzip = (Variant::Gzip, accepted.of(accepted.gzip));
    // Without a quality of its own, identity never wins against a coding that the client accepts.
    let identity = accepted.identity.unwrap_or(0);
    let ordered = if brotli.1 < gzip.1 {
        [gzip, brotli]
    } else {
        [brotli, gzip]
    };
    let is_accepted =
        move |(_, quality): &(Variant, Quality)| *quality != 0 && identity <= *quality;
    ordered
        .into_iter()
        .filter(is_accepted)
        .map(|(variant, _)| variant)
}

#[derive(Default)]
struct Accepted {
    brotli: Option<Quality>,
    gzip: Option<Quality>,
    identity: Option<Quality>,
    any: Option<Quality>,
}

impl Accepted {
    fn of(&self, named: Option<Quality>) -> Quality {
        named.or(self.any).unwrap_or(0)
    }

    /// Reads one item such as `gzip;q=0.5`. An item that cannot be parsed is skipped.
    fn take(&mut self, item: &[u8]) {
        let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let coding = parts.next().unwrap_or_default();
        let mut weight = Some(1000);
        for part in parts {
            if let Some(text) = part.strip_prefix(b"q=").or(part.strip_prefix(b"Q=")) {
                weight = quality(text);
            }
        }
        let Some(weight) = weight else {
            return;
        };
        let is = |name: &str| coding.eq_ignore_ascii_case(name.as_bytes());
        if is("br") {
            self.brotli = Some(weight);
        } else if is("gzip") || is("x-gzip") {
            self.gzip = Some(weight);
        } else if is("identity") {
            self.identity = Some(weight);
        } else if is("*") {
            self.any = Some(weight);
        }
    }
}

/// Reads `0`, `0.5`, `1.000`: up to three digits after the point, up to 1.
fn quality(text: &[u8]) -> Option<Quality> {
    let (whole, fraction) = match text {
        [whole] | [whole, b'.'] => (whole, &[][..]),
        [whole, b'.', fraction @ ..] => (whole, fraction),
        _ => return None,
    };
    let is_number = fraction.len() <= 3 && fraction.iter().all(u8::is_ascii_digit);
    if !is_number || !matches!(whole, b'0' | b'1') {
        return None;
    }
    let mut thousandths = Quality::from(whole - b'0') * 1000;
    for (digit, worth) in fraction.iter().zip([100, 10, 1]) {
        thousandths += Quality::from(digit - b'0') * worth;
    }
    if thousandths <= 1000 {
        Some(thousandths)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use Variant::{Brotli, Gzip};

    fn check(values: &[&'static str], expected: &[Variant]) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
        }
        let found: Vec<Variant> = accepted_variants(&headers).collect();
        assert_eq!(found, expected, "{values:?}");
    }

    #[test]
    fn nothing_said_means_plain_bytes() {
        check(&[], &[]);
        check(&[""], &[]);
        check(&["identity"], &[]);
        check(&["deflate, zstd"], &[]);
    }

    #[test]
    fn brotli_goes_before_gzip_when_equally_welcome() {
        check(&["gzip, deflate, br"], &[Brotli, Gzip]);
        check(&["gzip"], &[Gzip]);
        check(&["GZIP", "BR"], &[Brotli, Gzip]);
        check(&["x-gzip"], &[Gzip]);
        check(&["br;q=0.5, gzip;q=0.8"], &[Gzip, Brotli]);
        check(&["*"], &[Brotli, Gzip]);
    }

    #[test]
    fn zero_and_identity_are_honoured() {
        check(&["gzip;q=0"], &[]);
        check(&["br;q=0, *"], &[Gzip]);
        check(&["gzip, *;q=0"], &[Gzip]);
        check(&["gzip;q=0.5, identity"], &[]);
        check(&["gzip;q=0.5, identity;q=0.4"], &[Gzip]);
        check(&["identity;q=0"], &[]);
        check(&["identity;q=0, gzip;q=0.1"], &[Gzip]);
        check(&["gzip ; q=0.000"], &[]);
    }

    #[test]
    fn nonsense_is_passed_over() {
        check(&["gzip;q=2, br;q=0.1234"], &[]);
        check(&["gzip;q=x, br"], &[Brotli]);
        check(&[";q=1,,gzip"], &[Gzip]);
    }
}
