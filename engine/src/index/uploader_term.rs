//! Terms of uploaders: they stand in the dictionary of words that no title has, and lead to the
//! documents of an uploader as a word leads to its documents.

/// First character of such a term. No word has it, because folding ends a word there, so no search
/// for words meets an uploader.
const MARK: char = '\0';

/// Writes the term of the uploader with exactly this name.
pub(super) fn write_uploader_term(name: &str, out: &mut String) {
    out.clear();
    out.push(MARK);
    out.push_str(name);
}

/// Returns true for the term of an uploader.
pub(super) fn is_uploader_term(term: &[u8]) -> bool {
    term.first() == Some(&(MARK as u8))
}
