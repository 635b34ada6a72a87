//! The base path: the path of the public URL, where a proxy mounts the service.

use percent_encoding::percent_decode_str;

/// The path without `base`, if it is below it; else the whole path, because a proxy may have taken
/// the base away. Slashes are merged before and within the base, and its segments are compared
/// decoded (API.md, 2.2).
///
/// `base` is empty, or a slash and segments without a slash at the end.
///
/// ```
/// use subcat_server::request::without_base;
/// assert_eq!(without_base("/subs/keys", "/subs"), "/keys");
/// assert_eq!(without_base("/keys", "/subs"), "/keys");
/// ```
pub fn without_base<'a>(path: &'a str, base: &str) -> &'a str {
    let mut rest = path;
    for segment in base.split('/').filter(|segment| !segment.is_empty()) {
        let trimmed = rest.trim_start_matches('/');
        let end = trimmed.find('/').unwrap_or(trimmed.len());
        let (first, below) = trimmed.split_at(end);
        if first != segment && !percent_decode_str(first).eq(percent_decode_str(segment)) {
            return path;
        }
        rest = below;
    }
    if rest.is_empty() { "/" } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_taken_away_once() {
        let check = |path, base, expected| assert_eq!(without_base(path, base), expected);
        check("/keys", "", "/keys");
        check("/", "", "/");
        check("/subs", "/subs", "/");
        check("/subs/", "/subs", "/");
        check("/subs/keys/7", "/subs", "/keys/7");
        check("//subs//keys", "/subs", "//keys");
        check("/subs/subs/keys", "/subs", "/subs/keys");
        check("/media/subs/keys", "/media/subs", "/keys");
        check("/media/keys", "/media/subs", "/media/keys");
        check("/subsonic", "/subs", "/subsonic");
        check("/s%75bs/k%65ys", "/subs", "/k%65ys");
        check("/subs%2Fkeys", "/subs", "/subs%2Fkeys");
        check("/subt%c3%adtulos/keys", "/subt%C3%ADtulos", "/keys");
        check("/subt\u{ed}tulos/keys", "/subt%C3%ADtulos", "/keys");
        check("/%", "/subs", "/%");
        check("/keys", "/subs", "/keys");
    }
}
