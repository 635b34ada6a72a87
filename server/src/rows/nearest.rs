//! The known name that a mistyped one means.

use crate::limits::NAME_SIMILARITY_MIN;

/// The name that is most like `name`, if one is.
///
/// ```
/// use subcat_server::rows::nearest;
/// assert_eq!(nearest("saeson", ["season", "episode"]), Some("season"));
/// assert_eq!(nearest("studio", ["season", "episode"]), None);
/// ```
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let lower = name.to_lowercase();
    let mut best = (NAME_SIMILARITY_MIN, None);
    for known in names {
        let similarity = strsim::normalized_damerau_levenshtein(&lower, &known.to_lowercase());
        if best.0 <= similarity {
            best = (similarity, Some(known));
        }
    }
    best.1
}
