//! HTTP clients for URLs that an operator names.

use reqwest::{Client, ClientBuilder, Url};

/// A client that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientSetupError {
    /// The resolver would ask public name servers for the name of a host that is often internal.
    #[error(
        "{subject} names the host {host}, and {path}, which says who resolves names, cannot be \
         read: make it readable, or give an IP address, and restart"
    )]
    NoNameServers {
        subject: &'static str,
        host: String,
        path: &'static str,
        source: std::io::Error,
    },
    /// The program was built without TLS.
    #[error(
        "{subject} begins with https, and this program was built without TLS: build it with the \
         feature `tls`, or give a URL that begins with http"
    )]
    NoTls { subject: &'static str },
    /// The TLS configuration cannot be built.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// The file that names the name servers. The resolver that is built in reads it, and without it
/// asks public ones.
const RESOLVER_FILE: &str = "/etc/resolv.conf";

/// A client for a URL, which is the value of `subject`. It tells servers the program, and neither
/// asks a proxy nor tells where it was redirected from.
///
/// Errors: the URL needs TLS or name servers that are not there.
pub(crate) fn client_builder(
    subject: &'static str,
    url: &str,
) -> Result<ClientBuilder, ClientSetupError> {
    let url = Url::parse(url).ok();
    ensure_resolvable(RESOLVER_FILE, subject, url.as_ref())?;
    ensure_tls(cfg!(feature = "tls"), subject, url.as_ref())?;
    #[cfg(feature = "tls")]
    install_tls();
    let agent = concat!("subcat/", env!("CARGO_PKG_VERSION"));
    Ok(Client::builder()
        .user_agent(agent)
        .referer(false)
        .no_proxy())
}

/// Makes ring the provider of the cryptography of TLS in this process.
#[cfg(feature = "tls")]
pub(crate) fn install_tls() {
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Errors: the URL begins with https, and there is no TLS.
fn ensure_tls(
    has_tls: bool,
    subject: &'static str,
    url: Option<&Url>,
) -> Result<(), ClientSetupError> {
    if !has_tls && url.is_some_and(|url| url.scheme() == "https") {
        return Err(ClientSetupError::NoTls { subject });
    }
    Ok(())
}

/// Errors: names have to be resolved for the URL, and the file that names the resolvers cannot be
/// read.
fn ensure_resolvable(
    resolver_file: &'static str,
    subject: &'static str,
    url: Option<&Url>,
) -> Result<(), ClientSetupError> {
    let Some(host) = url.and_then(Url::domain) else {
        return Ok(());
    };
    if host == "localhost" {
        return Ok(());
    }
    match std::fs::read(resolver_file) {
        Ok(_) => Ok(()),
        Err(source) => Err(ClientSetupError::NoNameServers {
            subject,
            host: host.to_owned(),
            path: resolver_file,
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use subcat_engine::error_chain;

    use super::*;

    fn resolvable(url: &str, file: &'static str) -> Result<(), ClientSetupError> {
        ensure_resolvable(file, "upstream.url", Url::parse(url).ok().as_ref())
    }

    #[test]
    fn names_are_resolved_by_the_servers_of_this_machine_or_not_at_all() {
        let check = |url, file, is_allowed| {
            assert_eq!(resolvable(url, file).is_ok(), is_allowed, "{url}");
        };
        let missing = "/nonexistent/resolv.conf";
        check(
            "http://files.internal/{source_release_id}",
            "/dev/null",
            true,
        );
        check("http://files.internal/{source_release_id}", missing, false);
        check("http://127.0.0.1:9/{source_release_id}", missing, true);
        check("http://[::1]:9/{source_release_id}", missing, true);
        check("http://localhost:9/{source_release_id}", missing, true);
        let url = "https://files.internal/";
        let error = resolvable(url, missing).unwrap_err();
        let text = error_chain(&error);
        assert!(
            text.contains("the host files.internal, and /nonexistent"),
            "{text}"
        );
    }

    #[test]
    fn a_program_without_tls_refuses_https_by_the_name_of_the_setting() {
        let check =
            |has_tls, url| ensure_tls(has_tls, "upstream.url", Url::parse(url).ok().as_ref());
        assert!(check(false, "http://127.0.0.1/").is_ok());
        assert!(check(true, "https://127.0.0.1/").is_ok());
        let text = error_chain(&check(false, "https://127.0.0.1/").unwrap_err());
        assert!(text.starts_with("upstream.url begins with https"), "{text}");
    }
}
