//! Every place in the title text, sorted by what follows it.

/// Bytes that are compared at a time.
const STRIDE: usize = 8;

/// Places of a text of titles between line feeds where a character other than a space or a line
/// feed begins, sorted by the bytes up to the next line feed; equal ones by place.
///
/// Cost: a sort of as many numbers as there are characters, again for those that agree in 8 bytes.
pub(crate) fn sort_suffixes(text: &[u8]) -> Vec<u32> {
    let mut suffixes: Vec<(u64, u32)> = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        let is_start = byte != b' ' && byte != b'\n' && byte & 0xc0 != 0x80;
        if is_start {
            suffixes.push((stride_at(text, at), at as u32));
        }
    }
    suffixes.sort_unstable();
    let mut groups = Vec::new();
    push_groups(&suffixes, 0, STRIDE, &mut groups);
    while let Some((from, to, depth)) = groups.pop() {
        for suffix in &mut suffixes[from..to] {
            suffix.0 = stride_at(text, suffix.1 as usize + depth);
        }
        suffixes[from..to].sort_unstable();
        push_groups(&suffixes[from..to], from, depth + STRIDE, &mut groups);
    }
    suffixes.into_iter().map(|(_, at)| at).collect()
}

/// Remembers the runs of equal strides that go on behind them.
fn push_groups(
    suffixes: &[(u64, u32)],
    base: usize,
    depth: usize,
    groups: &mut Vec<(usize, usize, usize)>,
) {
    let mut from = base;
    for run in suffixes.chunk_by(|a, b| a.0 == b.0) {
        let ends_here = run[0].0 & 0xff == 0;
        if run.len() > 1 && !ends_here {
            groups.push((from, from + run.len(), depth));
        }
        from += run.len();
    }
}

/// Eight bytes as a number that sorts like them; zeros from the line feed on.
fn stride_at(text: &[u8], at: usize) -> u64 {
    let end = text.len().min(at + STRIDE);
    let mut stride = 0;
    let mut is_over = false;
    for idx in 0..STRIDE {
        let byte = if at + idx < end {
            text[at + idx]
        } else {
            b'\n'
        };
        is_over |= byte == b'\n';
        stride = stride << 8 | if is_over { 0 } else { u64::from(byte) };
    }
    stride
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_sort(titles in prop::collection::vec("[ab ñ]{1,30}", 0..20)) {
            let text = format!("\n{}\n", titles.join("\n"));
            let bytes = text.as_bytes();
            let rest = |at: u32| text[at as usize..].split('\n').next().unwrap();
            let mut expected: Vec<u32> = text
                .char_indices()
                .filter(|(_, character)| !" \n".contains(*character))
                .map(|(at, _)| at as u32)
                .collect();
            expected.sort_by_key(|&at| (rest(at), at));
            prop_assert_eq!(sort_suffixes(bytes), expected);
        }
    }
}
