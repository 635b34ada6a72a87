//! Style sheet, script and icon of the pages, embedded in the binary.
//!
//! Their addresses contain a checksum of their content, so a browser may cache them forever.

use std::sync::LazyLock;

use bytes::Bytes;

use super::packed::PackedContent;

/// A file under `/assets/`.
pub(crate) struct Asset {
    /// Path, with a checksum of the content.
    pub(crate) url: String,
    /// Media type.
    pub(crate) content_type: &'static str,
    pub(crate) content: PackedContent,
}

/// Style sheet of all pages.
pub(crate) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| asset("style", "css", include_bytes!("../assets/style.css")));
/// Script of the copy buttons. Pages work without it.
pub(crate) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| asset("copy", "js", include_bytes!("../assets/copy.js")));
/// Script of the samples in the documentation: tabs, and requests that run. The page works without.
pub(crate) static SAMPLES_SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| asset("samples", "js", include_bytes!("../assets/samples.js")));
/// Icon of the site.
pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| asset("icon", "svg", include_bytes!("../assets/icon.svg")));

fn asset(name: &str, extension: &str, bytes: &'static [u8]) -> Asset {
    let content_type = match extension {
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        _ => "image/svg+xml",
    };
    Asset {
        url: format!("/assets/{name}-{:08x}.{extension}", crc32fast::hash(bytes)),
        content_type,
        content: PackedContent::new(Bytes::from_static(bytes)),
    }
}

/// The asset with this path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    [&*STYLE, &*SCRIPT, &*SAMPLES_SCRIPT, &*ICON]
        .into_iter()
        .find(|asset| asset.url == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_the_content() {
        let style = find(&STYLE.url).unwrap();
        assert!(style.url.starts_with("/assets/style-"));
        assert_eq!(style.content_type, "text/css; charset=utf-8");
        assert!(find("/assets/style-00000000.css").is_none());
        assert!(find("/assets/../Cargo.toml").is_none());
    }

    #[test]
    fn sizes_of_type_and_distances_are_those_of_the_scales() {
        let text = std::str::from_utf8(&STYLE.content.plain).unwrap();
        let mut checked = 0;
        for declaration in text.split([';', '{', '}']) {
            let Some((property, value)) = declaration.trim().split_once(": ") else {
                continue;
            };
            let family = property.split('-').next().unwrap_or("");
            let is_scaled = matches!(family, "margin" | "padding" | "gap" | "font")
                && property != "font-family";
            // The largest heading grows with the window.
            if is_scaled && !value.starts_with("clamp(") {
                assert!(!value.contains("rem"), "{declaration}: use --t1… or --s1…");
                checked += 1;
            }
        }
        assert!(200 < checked, "{checked}");
    }
}
