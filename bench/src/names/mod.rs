//! Names of files and releases in every form that the search rules know, asked of a catalog with
//! decoys: is the right record first?

mod catalog;
mod form;
mod report;
mod sets;

pub use catalog::{NameCatalog, Subject};
pub use form::{FORMS, NameForm, Named};
pub use report::{FormCount, NameReport};
pub use sets::name_sets;
