//! Commands as pages show them: ready to paste into a shell of the machine.

use std::path::{Path, absolute};

use super::web_request::WebRequest;

/// A command of this program that acts on the data directory of this service.
pub(crate) fn command_text(request: &WebRequest, arguments: &str) -> String {
    let config = request.site.service.config();
    format!("subcat {arguments} --data {}", shell_word(&config.data))
}

/// The absolute path as one word of a shell.
fn shell_word(path: &Path) -> String {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/-._".contains(c);
    if text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        let check = |path: &str, word: &str| assert_eq!(shell_word(Path::new(path)), word);
        check("/var/lib/subcat", "/var/lib/subcat");
        check("/srv/sub cat", "'/srv/sub cat'");
        check("/srv/it's", "'/srv/it'\\''s'");
        let here = shell_word(Path::new("./subcat-data"));
        assert!(here.ends_with("/subcat-data"), "{here}");
        assert!(here.trim_start_matches('\'').starts_with('/'), "{here}");
    }
}
