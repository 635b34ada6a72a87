//! Languages of tables: codes and names (API.md 13.9).

use subcat_engine::{Language, language_of};

use crate::rows::language_name::named_tag;

/// Codes without a language.
const NONE: &[&str] = &["und", "mul", "mis", "zxx", "xx"];

/// The tag that a cell names; none for anything else.
pub(super) fn tag_of_cell(cell: &str) -> Option<String> {
    let cell = cell.trim();
    if NONE.iter().any(|code| cell.eq_ignore_ascii_case(code)) {
        return None;
    }
    if let Some(tag) = language_of(cell).or_else(|| named_tag(cell).map(str::to_owned)) {
        return Some(tag);
    }
    Language::parse_any_service(cell).map(|tag| tag.as_str().to_owned())
}

/// The language itself, without its region.
pub(super) fn primary(tag: &str) -> String {
    Language::parse(tag).map_or_else(|| tag.to_owned(), |tag| tag.primary())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_read_as_tables_write_them() {
        for (cell, tag) in [
            ("Spanish (EU)", Some("es-ES")),
            ("Español (España)", Some("es-ES")),
            ("Portuguese (BR)", Some("pt-BR")),
            ("aleman", Some("de")),
            ("sp", Some("es-ES")),
            ("Farsi/Persian", Some("fa")),
            ("Brazillian Portuguese", Some("pt-BR")),
            ("Portuguese", Some("pt")),
            ("Chinese BG code", Some("zh")),
            ("Cambodian/Khmer", Some("km")),
            ("Amharic", Some("am")),
            ("Spanish Latin America", Some("es-419")),
            ("ast", Some("ast")),
            ("und", None),
            ("Klingon", None),
        ] {
            assert_eq!(tag_of_cell(cell).as_deref(), tag, "{cell}");
        }
    }
}
