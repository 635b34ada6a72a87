//! The page that says why another one is not shown.

use askama::Template;
use http::header::{ALLOW, RETRY_AFTER};
use http::{HeaderValue, Method, Response, StatusCode};

use subcat_engine::error_chain;

use super::answer::{PageBody, bytes, see_other};
use super::error::PageError;
use super::frame::Frame;
use super::language::Lang;
use super::params;
use super::web_request::WebRequest;
use crate::upstream::FetchError;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    page: Frame,
    status: u16,
    heading: &'a str,
    text: &'a str,
    /// Target and text of the button.
    link: &'a str,
    link_text: &'a str,
}

/// Answers with the page that describes `error`; without a session, with a redirect to the sign-in
/// page. A failure of the server is logged with its causes.
pub(crate) fn answer(error: &PageError, request: &WebRequest) -> Response<PageBody> {
    if let PageError::NotSignedIn = error {
        return see_other(&sign_in_path(request));
    }
    if error.is_internal() {
        let cause = error_chain(error);
        tracing::error!(path = request.path, cause, "a page failed");
    }
    let lang = request.lang;
    let (heading, text) = match lang {
        Lang::En => texts(error)[0],
        Lang::Es => texts(error)[1],
    };
    let (link, link_text) = if request.viewer.is_some() {
        (
            "/catalog",
            lang.t("Search the catalog", "Buscar en el catálogo"),
        )
    } else {
        (
            "/",
            lang.t("Go to the front page", "Ir a la página de inicio"),
        )
    };
    let status = status(error);
    let template = ErrorPage {
        page: request.frame(""),
        status: status.as_u16(),
        heading,
        text,
        link,
        link_text,
    };
    // If even this template fails, an empty body with the right status remains.
    let html = template.render().unwrap_or_default();
    let mut response = bytes(status, "text/html; charset=utf-8", html);
    let headers = response.headers_mut();
    if let PageError::TooManyAttempts(rejection) = error {
        headers.insert(RETRY_AFTER, rejection.retry_after_seconds.into());
    }
    if let PageError::MethodNotAllowed(allowed) = error {
        headers.insert(ALLOW, HeaderValue::from_static(allowed));
    }
    response
}

fn status(error: &PageError) -> StatusCode {
    match error {
        PageError::NotFound => StatusCode::NOT_FOUND,
        PageError::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
        PageError::ForeignForm | PageError::Forbidden => StatusCode::FORBIDDEN,
        PageError::InvalidForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        PageError::NotSignedIn => StatusCode::SEE_OTHER,
        PageError::TooManyAttempts(_) => StatusCode::TOO_MANY_REQUESTS,
        PageError::HashingQueueError(_) => StatusCode::SERVICE_UNAVAILABLE,
        PageError::NoFile | PageError::Upstream(FetchError::Unusable) => StatusCode::BAD_REQUEST,
        PageError::Upstream(FetchError::Unavailable | FetchError::Busy) => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Heading and text, in English and Spanish.
const fn texts(error: &PageError) -> [(&'static str, &'static str); 2] {
    match error {
        PageError::NotFound | PageError::NotSignedIn => [
            ("Page not found", "Página no encontrada"),
            (
                "This page does not exist, or you do not have access to it.",
                "Esta página no existe o no tienes acceso a ella.",
            ),
        ],
        PageError::MethodNotAllowed(_) => [
            ("Method not allowed", "Método no permitido"),
            (
                "This page does not support this request method.",
                "Esta página no admite este método de petición.",
            ),
        ],
        PageError::ForeignForm | PageError::InvalidForm => [
            ("Form rejected", "Formulario rechazado"),
            (
                "It was not sent from a page of this site. Open the page and try again.",
                "No se envió desde una página de este sitio. Abre la página y vuelve a intentarlo.",
            ),
        ],
        PageError::Forbidden => [
            ("Administrators only", "Solo para administradores"),
            (
                "Your account does not have access to this page.",
                "Tu cuenta no tiene acceso a esta página.",
            ),
        ],
        PageError::TooManyAttempts(_) => [
            ("Too many attempts", "Demasiados intentos"),
            (
                "Wait a few minutes, then try again.",
                "Espera unos minutos y vuelve a intentarlo.",
            ),
        ],
        PageError::HashingQueueError(_) => [
            ("Server busy", "Servidor ocupado"),
            (
                "Too many people are signing in right now. Try again in a moment.",
                "Demasiadas personas están iniciando sesión. Vuelve a intentarlo en un momento.",
            ),
        ],
        PageError::NoFile | PageError::Upstream(_) => [
            ("File not available", "Archivo no disponible"),
            (
                "The source did not provide a usable file. Try again later.",
                "El origen no proporcionó un archivo utilizable. Vuelve a intentarlo más tarde.",
            ),
        ],
        _ => [
            ("Internal error", "Error interno"),
            (
                "The server failed and has logged the error. Try again later.",
                "El servidor ha fallado y lo ha registrado. Vuelve a intentarlo más tarde.",
            ),
        ],
    }
}

/// The sign-in page that leads back to the requested page.
fn sign_in_path(request: &WebRequest) -> String {
    // The form would be lost: a sign-in can only lead back to a GET.
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
