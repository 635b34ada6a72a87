// Buttons that copy, and that show a password; short addresses of searches. The buttons are hidden
// until this script runs; every page works without it.
'use strict';
for (const button of document.querySelectorAll('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    const text = source.value ?? source.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without https there is no clipboard: select the text and ask the old way.
      if (source.select) source.select();
      else getSelection().selectAllChildren(source);
      if (!document.execCommand('copy')) return;
    }
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
for (const button of document.querySelectorAll('button[data-show]')) {
  const field = document.getElementById(button.dataset.show);
  const show = (isShown) => {
    field.type = isShown ? 'text' : 'password';
    button.setAttribute('aria-pressed', isShown);
  };
  button.hidden = false;
  button.addEventListener('click', () => show(field.type === 'password'));
  // Browsers remember what was typed into a text field.
  field.form.addEventListener('submit', () => show(false));
}
for (const form of document.querySelectorAll('form[role="search"]')) {
  // An empty field is no part of a search, nor of its address.
  form.addEventListener('formdata', ({ formData }) => {
    for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
  });
}
