//! Scripts made of scenes: timed lines, the same for the same seed.

use std::sync::LazyLock;

use serde::Deserialize;

/// One subtitle on the screen. `|` in the text is a line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cue {
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
    pub(super) text: String,
}

/// One line of `scenes.jsonl`. The file's `scene` field is a label for its editors. The lines of a
/// scene name people as `{a}`, `{b}`, `{c}` and a place as `{l}`.
#[derive(Deserialize)]
struct Scene {
    #[serde(default)]
    language: Option<String>,
    lines: Vec<String>,
}

static SCENES: LazyLock<Vec<Scene>> = LazyLock::new(|| {
    let mut scenes = Vec::new();
    for line in include_str!("scenes.jsonl").lines() {
        scenes.push(
            serde_json::from_str(line).expect("the data ships with the program and is tested"),
        );
    }
    scenes
});

const NAMES: [&str; 20] = [
    "Amalia", "Bruno", "Celeste", "Damián", "Elvira", "Fermín", "Griselda", "Horacio", "Inés",
    "Joaquín", "Leonor", "Matías", "Nuria", "Octavio", "Paloma", "Ramón", "Soledad", "Tomás",
    "Úrsula", "Vicente",
];
const PLACES: [&str; 8] = [
    "Puerto Niebla",
    "Villa Esparto",
    "San Telmo del Río",
    "Las Tres Cruces",
    "Monteclaro",
    "La Herradura",
    "Fuente Honda",
    "Cabo Perdido",
];
const CREDIT: &str = "Subtítulo de demostración: texto original,|no es el diálogo de la película";

/// Composes `scene_count` scenes (or as many as there are) of a language, in an order and with
/// names that depend on the seed only. The first cue describes the text.
pub(super) fn compose(seed: &str, language: &str, scene_count: usize) -> Vec<Cue> {
    let mut dice = Dice::new(seed);
    let mut scenes = Vec::new();
    for scene in SCENES.iter() {
        if scene.language.as_deref().unwrap_or("es") == language {
            scenes.push(scene);
        }
    }
    dice.shuffle(&mut scenes);
    let mut names = NAMES;
    dice.shuffle(&mut names);
    let place = PLACES[dice.below(PLACES.len())];

    let mut cues = vec![Cue {
        start_ms: 1_000,
        end_ms: 5_000,
        text: CREDIT.to_owned(),
    }];
    let mut clock_ms = 20_000;
    for scene in scenes.into_iter().take(scene_count) {
        for line in &scene.lines {
            let text = line
                .replace("{a}", names[0])
                .replace("{b}", names[1])
                .replace("{c}", names[2])
                .replace("{l}", place);
            let shown_ms = 900 + 55 * text.chars().count() as u64;
            cues.push(Cue {
                start_ms: clock_ms,
                end_ms: clock_ms + shown_ms,
                text,
            });
            clock_ms += shown_ms + 120 + dice.below(1_800) as u64;
        }
        clock_ms += 15_000 + dice.below(60_000) as u64;
        // The people of one scene are rarely those of the next.
        names.rotate_left(1 + dice.below(2));
    }
    cues
}

/// SplitMix64 over a seed. Written here because no library promises the same sequence forever, and
/// the files of the demo must not change.
struct Dice(u64);

impl Dice {
    fn new(seed: &str) -> Self {
        let mut state = 0xcbf2_9ce4_8422_2325_u64;
        for byte in seed.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(state)
    }

    /// A number from 0 to `bound` - 1.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for upper in (1..items.len()).rev() {
            items.swap(upper, self.below(upper + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_enough_scenes_of_a_likely_length() {
        assert!(SCENES.len() >= 45);
        for scene in SCENES.iter() {
            assert!((7..=14).contains(&scene.lines.len()), "{:?}", scene.lines);
        }
    }

    #[test]
    fn cues_follow_one_another_and_leave_no_gap_in_the_text() {
        let cues = compose("204166/0", "es", 40);
        assert!(cues.len() > 400);
        for pair in cues.windows(2) {
            assert!(pair[0].start_ms < pair[0].end_ms);
            assert!(pair[0].end_ms < pair[1].start_ms);
        }
        for cue in &cues {
            assert!(!cue.text.contains(['{', '}']), "{}", cue.text);
        }
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(compose("a", "es", 5), compose("a", "es", 5));
        assert_ne!(compose("a", "es", 5), compose("b", "es", 5));
    }

    #[test]
    fn english_scenes_stay_english() {
        let cues = compose("a", "en", 9);
        assert!(
            cues.iter()
                .skip(1)
                .all(|cue| !cue.text.contains(['¿', '¡']))
        );
    }
}
