//! URL under which programs reach the service, as far as the settings define it.

use super::Config;
use super::listen_address::ListenAddress;

impl Config {
    /// Returns true if users reach the service by https.
    pub fn has_https_url(&self) -> bool {
        let url = self.public_url.as_deref();
        url.is_some_and(|url| url.starts_with("https://"))
    }

    /// Path of the public URL, below which users reach the service: empty, or a slash and segments
    /// without a slash at the end.
    pub fn base_path(&self) -> &str {
        let url = self.public_url.as_deref().unwrap_or("");
        let after_scheme = url.find("://").map_or(0, |at| at + 3);
        let path = url[after_scheme..].find('/');
        path.map_or("", |at| &url[after_scheme + at..])
    }

    /// `public_url`, or else `http://` and `listen`, with `HOST` in the place of all addresses, and
    /// of the proxy in front of a Unix socket.
    pub fn reached_at(&self) -> String {
        match &self.public_url {
            Some(url) => url.clone(),
            None => listened_at(&self.listen),
        }
    }
}

fn listened_at(listen: &ListenAddress) -> String {
    match listen {
        ListenAddress::Tcp(address) if address.ip().is_unspecified() => {
            format!("http://HOST:{}", address.port())
        }
        ListenAddress::Tcp(address) => format!("http://{address}"),
        // Through the proxy that connects there.
        ListenAddress::Unix(_) => "http://HOST".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_path_is_what_follows_the_host() {
        let base_path = |url: Option<&str>| {
            let config = Config {
                public_url: url.map(str::to_owned),
                ..Config::default()
            };
            config.base_path().to_owned()
        };
        assert_eq!(base_path(None), "");
        assert_eq!(base_path(Some("https://subs.example:8443")), "");
        assert_eq!(
            base_path(Some("https://subs.example/tools/subs")),
            "/tools/subs"
        );
    }

    #[test]
    fn all_addresses_are_a_host_to_fill_in() {
        let check = |listen: &str, expected: &str| {
            assert_eq!(listened_at(&listen.parse().unwrap()), expected);
        };
        check("0.0.0.0:8080", "http://HOST:8080");
        check("[::]:80", "http://HOST:80");
        check("127.0.0.1:8080", "http://127.0.0.1:8080");
        check("[::1]:8080", "http://[::1]:8080");
        check("unix:/run/subcat.sock", "http://HOST");
    }
}
