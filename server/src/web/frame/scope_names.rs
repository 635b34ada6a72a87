//! Scopes of API keys in the words of the form.

use subcat_engine::Scopes;

use crate::web::frame::language::Lang;

/// The scopes in the words of the form, separated by commas.
pub(crate) fn scope_names(scopes: Scopes, lang: Lang) -> String {
    let names = [
        (Scopes::SEARCH, lang.t("search", "buscar")),
        (Scopes::READ, lang.t("read", "leer")),
        (Scopes::DOWNLOAD, lang.t("download", "descargar")),
        (Scopes::ADDRESS, lang.t("address", "dirección")),
    ];
    let held = names.iter().filter(|(scope, _)| scopes.contains(*scope));
    let held: Vec<&str> = held.map(|(_, name)| *name).collect();
    held.join(", ")
}
