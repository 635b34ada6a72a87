//! Names of browsers and systems, read from `User-Agent`, so that the owner of an account can
//! distinguish sessions.
//!
//! A few well-known names and nothing else: no version, no model. The header is free text that a
//! client chooses, so a name here is a hint and proves nothing.

/// Marks of browsers. Order matters: most of them also claim to be those below.
const BROWSERS: [(&str, &str); 9] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Marks of systems. Android claims to be Linux, and an iPhone to be like Mac OS X.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// Browser and system (`Firefox · Linux`); empty if neither is known.
pub(crate) fn device(user_agent: &str) -> String {
    let named = |names: &[(&str, &'static str)]| {
        let known = names.iter().find(|(mark, _)| user_agent.contains(mark));
        known.map(|(_, name)| *name)
    };
    let parts = [named(&BROWSERS), named(&SYSTEMS)];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(user_agent: &str, expected: &str) {
        assert_eq!(device(user_agent), expected, "{user_agent}");
    }

    #[test]
    fn a_device_has_the_names_that_its_owner_knows() {
        check(
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox · Linux",
        );
        check(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
            "Edge · Windows",
        );
        check(
            "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/141.0.0.0 Mobile Safari/537.36",
            "Chrome · Android",
        );
        check(
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, \
             like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari · iPhone",
        );
        check("curl/8.5.0", "");
        check("<script>alert(1)</script>", "");
        check("", "");
    }
}
