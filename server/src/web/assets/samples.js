// Tabs of the samples, and the buttons that run them. Without this script all samples are shown
// and nothing runs.
'use strict';
const groups = document.querySelectorAll('[data-samples]');

// A choice of language holds for every sample of the page.
function choose(language) {
  for (const group of groups) {
    for (const sample of group.querySelectorAll('[data-language]')) {
      sample.hidden = sample.dataset.language !== language;
    }
    for (const tab of group.querySelectorAll('[role="tab"]')) {
      const isChosen = tab.dataset.tab === language;
      tab.setAttribute('aria-selected', isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
    }
  }
}

function addTabs(group, groupIdx) {
  const list = document.createElement('div');
  list.className = 'tabs';
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', group.dataset.samples);
  for (const sample of group.querySelectorAll('[data-language]')) {
    const name = sample.querySelector('.language');
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.className = 'quiet small';
    tab.textContent = name.textContent;
    tab.dataset.tab = sample.dataset.language;
    tab.id = `tab-${groupIdx}-${sample.dataset.language}`;
    sample.id = `panel-${groupIdx}-${sample.dataset.language}`;
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', sample.id);
    sample.setAttribute('role', 'tabpanel');
    sample.setAttribute('aria-labelledby', tab.id);
    tab.addEventListener('click', () => {
      // Samples above change their height: the one that was chosen stays where it is.
      const before = tab.getBoundingClientRect().top;
      choose(tab.dataset.tab);
      scrollBy(0, tab.getBoundingClientRect().top - before);
    });
    name.hidden = true;
    list.append(tab);
  }
  list.addEventListener('keydown', (event) => {
    const tabs = [...list.children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  });
  group.querySelector('.caption').after(list);
}

const shownMax = 6000;
const box = document.getElementById('try');
const keyField = document.getElementById('try-key');
const texts = box.dataset;

// The answer as text, and for a file a link that saves it.
async function show(answer, output, began) {
  const left = answer.headers.get('x-ratelimit-remaining');
  const limit = left === null ? '' : ` · X-RateLimit-Remaining: ${left}`;
  const took = Math.round(performance.now() - began);
  let body;
  let link;
  if (answer.headers.get('content-type') === 'application/json') {
    const text = JSON.stringify(await answer.json(), null, 2);
    body = text.length <= shownMax ? text : `${text.slice(0, shownMax)}\n${texts.cut}`;
  } else {
    const file = await answer.blob();
    const named = /filename="(.+?)"/.exec(answer.headers.get('content-disposition') ?? '');
    link = document.createElement('a');
    link.href = URL.createObjectURL(file);
    link.download = named ? named[1] : 'subtitle';
    link.textContent = texts.save;
    body = `${link.download} · ${file.size} B`;
  }
  output.textContent = `HTTP ${answer.status} · ${took} ms${limit}\n\n${body}`;
  if (link) output.append('\n', link);
}

async function run(button, output) {
  const headers = {};
  if (button.hasAttribute('data-key')) {
    const key = keyField.value.trim();
    if (!key) {
      output.textContent = texts.missing;
      keyField.focus();
      return;
    }
    headers.Authorization = `Bearer ${key}`;
  }
  output.textContent = texts.waiting;
  const began = performance.now();
  try {
    // The session's cookie is not for the API.
    const options = { headers, credentials: 'omit', cache: 'no-store' };
    await show(await fetch(button.dataset.run, options), output, began);
  } catch (error) {
    output.textContent = `${texts.failed} ${error.message}`;
  }
}

groups.forEach(addTabs);
choose('curl');
box.hidden = false;
for (const button of document.querySelectorAll('[data-run]')) {
  const output = document.createElement('pre');
  output.className = 'output';
  output.setAttribute('role', 'status');
  output.tabIndex = 0;
  button.parentElement.after(output);
  button.hidden = false;
  button.addEventListener('click', () => run(button, output));
}
// A page that the browser keeps for its Back button keeps no key.
addEventListener('pagehide', () => { keyField.value = ''; });
