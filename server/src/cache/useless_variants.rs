//! Variants that are not worth making.

use subcat_engine::{ContentHash, Variant};

use super::generations::Generations;
use crate::limits::USELESS_VARIANTS_MAX;

/// Compressed variants that would not be smaller than their file. To find out again costs as much
/// as to make one, and the answer never changes: files are named by their content.
pub struct UselessVariants(Generations<(ContentHash, Variant), ()>);

impl Default for UselessVariants {
    fn default() -> Self {
        Self(Generations::new(USELESS_VARIANTS_MAX))
    }
}

impl UselessVariants {
    /// Notes that a variant is not worth making.
    pub fn insert(&mut self, content: ContentHash, variant: Variant) {
        self.0.put((content, variant), (), 1);
    }

    /// True if a variant is known to be not worth making.
    pub fn contains(&mut self, content: ContentHash, variant: Variant) -> bool {
        self.0.get(&(content, variant)).is_some()
    }
}
