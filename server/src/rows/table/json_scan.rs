//! Brackets and texts of JSON, byte by byte.

/// Position in a text of JSON.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct JsonScan {
    /// Brackets that are open.
    pub(super) depth: usize,
    pub(super) is_in_text: bool,
    is_escaped: bool,
}

impl JsonScan {
    /// Advances by a byte.
    pub(super) fn take(&mut self, byte: u8) {
        if self.is_in_text {
            let ends = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.is_in_text = !ends;
            return;
        }
        match byte {
            b'"' => self.is_in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Count of arrays of objects in the object that a text begins with, as far as the text goes.
pub(super) fn arrays_of_objects(beginning: &[u8]) -> usize {
    let mut scan = JsonScan::default();
    let mut arrays_count = 0;
    for (idx, byte) in beginning.iter().enumerate() {
        if *byte == b'[' && scan.depth == 1 && !scan.is_in_text {
            let inside = beginning[idx + 1..].trim_ascii_start();
            arrays_count += usize::from(inside.starts_with(b"{"));
        }
        scan.take(*byte);
        if scan.depth == 0 && !scan.is_in_text && *byte == b'}' {
            break;
        }
    }
    arrays_count
}
