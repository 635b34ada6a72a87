//! Answers of the pages: their headers, and what is said when something is refused.

use askama::Template;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use super::handle::PageBody;
use super::params;
use super::throttle::TooMany;
use super::web_request::WebRequest;
use crate::upstream::FetchFailure;

/// The answer to a request, or why there is none.
pub(crate) type PageResult = Result<Response<PageBody>, Refusal>;

/// Why a page is not shown.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no such page, or it is not for this account: the two look alike.
    NotFound,
    /// Known path, other method; the header that says which are allowed.
    Method(&'static str),
    /// The form does not come from one of our pages.
    NotOurs,
    /// What was posted is no form.
    NotAForm,
    /// Nobody is signed in.
    SignIn,
    /// Only for administrators.
    Forbidden,
    /// Too many tries.
    TooMany(TooMany),
    /// Too many passwords are being checked.
    Busy,
    /// The record has no file.
    NoFile,
    /// The file could not be had from upstream.
    Upstream(FetchFailure),
    /// Something of ours failed; the cause is logged, never shown.
    Failed(String),
}

impl From<subcat_engine::Error> for Refusal {
    fn from(error: subcat_engine::Error) -> Self {
        Self::Failed(with_causes(&error))
    }
}

/// An error and what caused it, in one line.
pub(crate) fn with_causes(error: &subcat_engine::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl From<TooMany> for Refusal {
    fn from(too_many: TooMany) -> Self {
        Self::TooMany(too_many)
    }
}

/// Only our own files, no inline script or style, no frame around us, no form to elsewhere.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; object-src 'none'";

/// Puts the headers on that every page has.
pub(crate) fn seal(headers: &mut HeaderMap) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "same-origin");
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    // Every page depends on who looks at it; only what says otherwise may be kept.
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("Cookie, Accept-Language"));
    }
}

/// An answer of finished bytes.
pub(crate) fn bytes(
    status: StatusCode,
    content_type: &'static str,
    bytes: impl Into<Bytes>,
) -> Response<PageBody> {
    let mut response = Response::new(PageBody::Bytes(bytes.into()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// A page.
pub(crate) fn page(status: StatusCode, template: &impl Template) -> PageResult {
    match template.render() {
        Ok(html) => Ok(bytes(status, "text/html; charset=utf-8", html)),
        Err(error) => Err(Refusal::Failed(error.to_string())),
    }
}

/// On to another page: 303, so that a reload repeats nothing.
pub(crate) fn see_other(location: &str) -> Response<PageBody> {
    let mut response = bytes(
        StatusCode::SEE_OTHER,
        "text/html; charset=utf-8",
        Bytes::new(),
    );
    let location = HeaderValue::try_from(location).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, location);
    response
}

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'a> {
    page: super::frame::Frame,
    status: u16,
    heading: &'a str,
    text: &'a str,
    way_out: &'a str,
    way_out_text: &'a str,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotOurs | Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotAForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::SignIn => StatusCode::SEE_OTHER,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoFile | Self::Upstream(FetchFailure::Unusable) => StatusCode::BAD_REQUEST,
            Self::Upstream(FetchFailure::Unavailable) => StatusCode::BAD_GATEWAY,
            Self::Upstream(FetchFailure::NotStored) | Self::Failed(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    /// Heading and text, in English and Spanish.
    const fn words(&self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::NotFound | Self::SignIn => [
                ("Page not found", "Página no encontrada"),
                (
                    "There is nothing at this address, or it is not yours to see.",
                    "No hay nada en esta dirección, o no puedes verlo.",
                ),
            ],
            Self::Method(_) => [
                ("Method not allowed", "Método no permitido"),
                (
                    "This page cannot be asked for in this way.",
                    "Esta página no se puede pedir de esta manera.",
                ),
            ],
            Self::NotOurs | Self::NotAForm => [
                ("Form refused", "Formulario rechazado"),
                (
                    "It was not sent from a page of this site. Open the page and try again.",
                    "No se envió desde una página de este sitio. Abre la página y prueba de nuevo.",
                ),
            ],
            Self::Forbidden => [
                ("For administrators only", "Solo para administradores"),
                (
                    "Your account may not see this page.",
                    "Tu cuenta no puede ver esta página.",
                ),
            ],
            Self::TooMany(_) => [
                ("Too many attempts", "Demasiados intentos"),
                (
                    "Wait some minutes, then try again.",
                    "Espera unos minutos y prueba de nuevo.",
                ),
            ],
            Self::Busy => [
                ("Busy", "Ocupado"),
                (
                    "Too many people are signing in right now. Try again in a moment.",
                    "Hay demasiada gente entrando ahora mismo. Prueba de nuevo en un momento.",
                ),
            ],
            Self::NoFile | Self::Upstream(_) => [
                ("The file could not be had", "No se pudo obtener el archivo"),
                (
                    "The source did not give a usable file. Try again later.",
                    "La fuente no dio un archivo utilizable. Prueba más tarde.",
                ),
            ],
            Self::Failed(_) => [
                ("Something went wrong here", "Algo ha fallado aquí"),
                (
                    "The fault is ours and has been logged. Try again later.",
                    "El fallo es nuestro y ha quedado registrado. Prueba más tarde.",
                ),
            ],
        }
    }

    /// What is answered.
    pub(crate) fn answer(&self, request: &WebRequest) -> Response<PageBody> {
        if let Self::SignIn = self {
            return see_other(&sign_in_path(request));
        }
        if let Self::Failed(cause) = self {
            tracing::error!(path = request.path, cause, "a page failed");
        }
        let [heading, text] = self.words();
        let way_out_text = match &request.viewer {
            Some(_) => request
                .lang
                .t("Search the catalog", "Buscar en el catálogo"),
            None => request.lang.t("To the front page", "Ir a la portada"),
        };
        let template = RefusalPage {
            page: request.frame(""),
            status: self.status().as_u16(),
            heading: request.lang.t(heading.0, heading.1),
            text: request.lang.t(text.0, text.1),
            way_out: if request.viewer.is_some() {
                "/catalog"
            } else {
                "/"
            },
            way_out_text,
        };
        let html = template.render().unwrap_or_default();
        let mut response = bytes(self.status(), "text/html; charset=utf-8", html);
        let headers = response.headers_mut();
        if let Self::TooMany(too_many) = self {
            headers.insert(RETRY_AFTER, too_many.retry_after_seconds.into());
        }
        if let Self::Method(allowed) = self {
            headers.insert(http::header::ALLOW, HeaderValue::from_static(allowed));
        }
        response
    }
}

/// The sign-in page that leads back to the requested page.
fn sign_in_path(request: &WebRequest) -> String {
    if request.method == Method::POST {
        return "/signin".to_owned();
    }
    let mut next = request.path.clone();
    if !request.raw_query.is_empty() {
        next.push('?');
        next.push_str(&request.raw_query);
    }
    format!("/signin?next={}", params::encode(&next))
}
