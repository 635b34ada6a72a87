//! The base path: the path of the public URL, where a proxy mounts the service.

/// The path without `base`, if it is below it; else the whole path, because a proxy may have taken
/// the base away. Slashes are merged before and within the base.
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
        let below = rest.trim_start_matches('/').strip_prefix(segment);
        match below {
            Some(below) if below.is_empty() || below.starts_with('/') => rest = below,
            _ => return path,
        }
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
        check("/keys", "/subs", "/keys");
    }
}
