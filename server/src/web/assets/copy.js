// Copy buttons. They are hidden until this script runs; every page works without it.
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
