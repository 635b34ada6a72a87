//! The page that explains why another one is not shown.

use askama::Template;
use http::header::{ALLOW, CONTENT_RANGE, RETRY_AFTER};
use http::{HeaderValue, Method, Response, StatusCode};

use subcat_engine::error_chain;

use super::frame::answer::{PageBody, bytes, see_other};
use super::frame::error::PageError;
use super::frame::notice::Notice;
use super::frame::page_frame::Frame;
use super::frame::params;
use super::frame::viewer::Viewer;
use super::frame::web_request::WebRequest;
use super::route;
use crate::api::PageFileRejection;
use crate::request::HeadRejection;
use crate::respond::ApiError;

#[derive(Template)]
#[template(path = "frame/error.html")]
struct ErrorPage<'a> {
    page: Frame,
    status: u16,
    heading: &'a str,
    text: String,
    /// Target and text of the button.
    link: String,
    link_text: &'a str,
}

/// Answers with the page that describes `error`; without a session, with a redirect to the sign-in
/// page. A failure of the server is logged with its causes.
pub(crate) fn answer(error: &PageError, request: &WebRequest) -> Response<PageBody> {
    if let PageError::NotSignedIn = error {
        // A form is lost with the session; the page of the form is not.
        return if request.method == Method::POST {
            request.see_other_with(&sign_in_path(request), Notice::SessionEnded)
        } else {
            see_other(&sign_in_path(request))
        };
    }
    if let PageError::StepMissing = error {
        return request.see_other_with("/profile/second-step", Notice::StepMissing);
    }
    if error.is_internal() {
        let cause = error_chain(error);
        tracing::error!(path = request.path, cause, "a page failed");
    }
    let lang = request.lang;
    let is_admin = request.viewer.as_ref().is_some_and(Viewer::is_admin);
    let both = match error {
        PageError::Forbidden if is_admin => NOT_ALLOWED,
        _ => texts(error),
    };
    let [heading, text] = both.map(|(en, es)| lang.t(en, es));
    let (link, link_text) = way_out(error, request);
    let seconds = retry_after(error).map_or(String::new(), |seconds| seconds.to_string());
    let text = text.replace("{}", &seconds);
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
    if let Some(seconds) = retry_after(error) {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let PageError::MethodNotAllowed(allowed) = error {
        headers.insert(ALLOW, HeaderValue::from_static(allowed));
    }
    if let PageError::File(PageFileRejection::Refused(ApiError::RangeNotSatisfiable(bytes))) = error
        && let Ok(range) = HeaderValue::try_from(format!("bytes */{bytes}"))
    {
        headers.insert(CONTENT_RANGE, range);
    }
    response
}

/// Seconds until a rejected request may be sent again.
const fn retry_after(error: &PageError) -> Option<u64> {
    match error {
        PageError::TooManyAttempts(rejection) | PageError::TooManyPages(rejection) => {
            Some(rejection.retry_after_seconds)
        }
        _ => None,
    }
}

/// Target and text of the button: the page itself where waiting helps, the record of a file that
/// is not available, else the catalog or the front page.
fn way_out(error: &PageError, request: &WebRequest) -> (String, &'static str) {
    let lang = request.lang;
    let segments = request.segments();
    match (error, segments.as_slice()) {
        (PageError::TooManyPages(_), _) => {
            let text = lang.t("Try again", "Reintentar");
            (request.target(), text)
        }
        (PageError::File(rejection), ["catalog", id, ..]) if !is_record_missing(*rejection) => {
            let link = format!("/catalog/{}", params::encode(id));
            (link, lang.t("Back to the record", "Volver a la ficha"))
        }
        _ if request.viewer.is_some() => {
            let text = lang.t("Go to the catalog", "Ir al catálogo");
            ("/catalog".to_owned(), text)
        }
        _ => {
            let text = lang.t("Go to the front page", "Ir a la página de inicio");
            ("/".to_owned(), text)
        }
    }
}

fn status(error: &PageError) -> StatusCode {
    match error {
        PageError::NotFound => StatusCode::NOT_FOUND,
        PageError::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
        PageError::Refused(rejection) => refused_status(*rejection),
        PageError::ForeignForm | PageError::Forbidden => StatusCode::FORBIDDEN,
        PageError::InvalidForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        PageError::NotSignedIn | PageError::StepMissing => StatusCode::SEE_OTHER,
        PageError::TooManyAttempts(_) | PageError::TooManyPages(_) => StatusCode::TOO_MANY_REQUESTS,
        PageError::HashingQueueError(_)
        | PageError::LogAway
        | PageError::LogUnanswered
        | PageError::Rebuilding => StatusCode::SERVICE_UNAVAILABLE,
        PageError::File(rejection) => file_status(*rejection),
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

const fn refused_status(rejection: HeadRejection) -> StatusCode {
    match rejection {
        HeadRejection::BadRequest => StatusCode::BAD_REQUEST,
        HeadRejection::LengthRequired => StatusCode::LENGTH_REQUIRED,
        HeadRejection::ContentTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        HeadRejection::UriTooLong => StatusCode::URI_TOO_LONG,
        HeadRejection::FieldsTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    }
}

/// Heading and text, each in English and Spanish.
const fn texts(error: &PageError) -> [(&'static str, &'static str); 2] {
    match error {
        PageError::NotFound | PageError::NotSignedIn | PageError::StepMissing => [
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
        PageError::Refused(rejection) => refused_texts(*rejection),
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
        PageError::TooManyPages(_) => PAUSE,
        PageError::Rebuilding
        | PageError::File(PageFileRejection::Refused(ApiError::Rebuilding)) => REBUILDING,
        PageError::File(rejection) => file_texts(*rejection),
        PageError::LogAway | PageError::LogUnanswered => cluster_texts(error),
        _ => INTERNAL,
    }
}

/// Heading and text of what an administrator may not do.
const NOT_ALLOWED: [(&str, &str); 2] = [
    ("Not allowed", "No permitido"),
    (
        "The rules of this service or its settings rule this out, for administrators too.",
        "Las reglas o la configuración de este servicio no lo permiten, tampoco a administradores.",
    ),
];

/// Heading and text of a failure of the server.
const INTERNAL: [(&str, &str); 2] = [
    ("Internal error", "Error interno"),
    (
        "The server failed and has logged the error. Try again later.",
        "El servidor ha fallado y lo ha registrado. Vuelve a intentarlo más tarde.",
    ),
];

/// Heading and text of a change that needs the log of the cluster.
const fn cluster_texts(error: &PageError) -> [(&'static str, &'static str); 2] {
    let heading = ("Not possible right now", "No es posible ahora");
    match error {
        PageError::LogUnanswered => [
            heading,
            (
                "The servers have lost touch with each other. The change may have been made: look \
                 before you try again.",
                "Los servidores han perdido el contacto entre sí. Puede que el cambio se haya \
                 hecho: compruébalo antes de volver a intentarlo.",
            ),
        ],
        _ => [
            heading,
            (
                "The servers have lost touch with each other. Nothing was changed. Try again in a \
                 moment.",
                "Los servidores han perdido el contacto entre sí. No se ha cambiado nada. Vuelve a \
                 intentarlo en un momento.",
            ),
        ],
    }
}

/// Heading and text of a request that breaks HTTP's own rules.
const fn refused_texts(rejection: HeadRejection) -> [(&'static str, &'static str); 2] {
    match rejection {
        HeadRejection::ContentTooLarge => [
            ("Too much text", "Demasiado texto"),
            (
                "The form holds more text than any page here asks for. Shorten it and try again.",
                "El formulario contiene más texto del que pide cualquier página. Acórtalo y \
                 vuelve a intentarlo.",
            ),
        ],
        HeadRejection::UriTooLong => [
            ("Address too long", "Dirección demasiado larga"),
            (
                "The address of the page is too long. Shorten the search and try again.",
                "La dirección de la página es demasiado larga. Acorta la búsqueda y vuelve a \
                 intentarlo.",
            ),
        ],
        HeadRejection::FieldsTooLarge => [
            ("Too many cookies", "Demasiadas cookies"),
            (
                "The browser sent more cookies than are read here. Delete those of this site and \
                 try again.",
                "El navegador ha enviado más cookies de las que se aceptan. Borra las de este \
                 sitio y vuelve a intentarlo.",
            ),
        ],
        HeadRejection::BadRequest | HeadRejection::LengthRequired => [
            ("Request not understood", "Petición no válida"),
            (
                "The browser, or a program between it and this site, sent a request that is not \
                 valid.",
                "El navegador, o un programa intermedio, ha enviado una petición que no es válida.",
            ),
        ],
    }
}

/// Heading and text of an account that reads too fast.
const PAUSE: [(&str, &str); 2] = [
    ("A short pause", "Una breve pausa"),
    (
        "Many pages of the catalog within a minute: the next one is available in {} s.",
        "Muchas páginas del catálogo en un minuto: la siguiente estará disponible en {} s.",
    ),
];

/// Heading and text of a page that needs a part of the index which is being built again.
const REBUILDING: [(&str, &str); 2] = [
    ("One moment", "Un momento"),
    (
        "A part of the catalog is being built again. Try again in a few seconds.",
        "Una parte del catálogo se está reconstruyendo. Vuelve a intentarlo en unos segundos.",
    ),
];

const fn is_record_missing(rejection: PageFileRejection) -> bool {
    matches!(
        rejection,
        PageFileRejection::Refused(ApiError::SubtitleNotFound)
    )
}

fn file_status(rejection: PageFileRejection) -> StatusCode {
    let status = match rejection {
        PageFileRejection::InvalidText => return StatusCode::UNPROCESSABLE_ENTITY,
        PageFileRejection::Refused(error) => error.status(),
    };
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Heading and text of a file that is not sent.
const fn file_texts(rejection: PageFileRejection) -> [(&'static str, &'static str); 2] {
    let PageFileRejection::Refused(error) = rejection else {
        return [
            ("Text not found", "Texto no encontrado"),
            (
                "The address asks for a text in a way that does not exist here.",
                "La dirección pide un texto de una forma que aquí no existe.",
            ),
        ];
    };
    match error {
        ApiError::SubtitleNotFound => texts(&PageError::NotFound),
        ApiError::NoReleaseId => [
            ("No file", "Sin archivo"),
            (
                "This record has no file to download.",
                "Esta ficha no tiene ningún archivo para descargar.",
            ),
        ],
        ApiError::FileNotInArchive | ApiError::ExtractionFailed | ApiError::ConversionFailed => {
            text_texts(error)
        }
        ApiError::PreconditionFailed | ApiError::RangeNotSatisfiable(_) => [
            ("The file has changed", "El archivo ha cambiado"),
            (
                "The download cannot go on where it stopped. Start it again.",
                "La descarga no puede continuar donde se detuvo. Empiézala de nuevo.",
            ),
        ],
        ApiError::DownloadFailed | ApiError::UpstreamFailed => [
            (
                "The file could not be fetched",
                "No se ha podido obtener el archivo",
            ),
            (
                "The source did not provide a usable file. Try again later.",
                "El origen no proporcionó un archivo utilizable. Vuelve a intentarlo más tarde.",
            ),
        ],
        _ => INTERNAL,
    }
}

/// Heading and text of a text of a file that is not sent.
const fn text_texts(error: ApiError) -> [(&'static str, &'static str); 2] {
    match error {
        ApiError::ConversionFailed => [
            ("Not convertible", "No se puede convertir"),
            (
                "The text of this file cannot be converted to this format.",
                "El texto de este archivo no se puede convertir a este formato.",
            ),
        ],
        ApiError::ExtractionFailed => [
            ("Archive not readable", "Archivo ilegible"),
            (
                "The text cannot be taken out of the archive. Download the whole file instead.",
                "El texto no se puede extraer. Descarga el archivo completo.",
            ),
        ],
        _ => [
            ("Text not found", "Texto no encontrado"),
            (
                "The file holds no such text.",
                "El archivo no contiene ese texto.",
            ),
        ],
    }
}

/// The sign-in page that leads back to the requested page, or to the page of a submitted form.
fn sign_in_path(request: &WebRequest) -> String {
    let next = if request.method == Method::POST {
        route::form_page(&request.path)
    } else {
        request.target()
    };
    match next.as_str() {
        "" => "/signin".to_owned(),
        next => format!("/signin?next={}", params::encode(next)),
    }
}
