/** The search, the choice of colours, and the choice between versions. A page can be read without it. */
const MAX_FOUND = 12;
const EXCERPT_CHARS = 160;

const root = document.documentElement.dataset.root ?? '.';

interface Found {
  readonly path: string;
  readonly title: string;
  readonly heading: string;
  readonly text: string;
}

const loadScript = (name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${root}/${name}`;
    script.onload = () => resolve();
    script.onerror = () => reject(new Error(`${name} cannot be loaded`));
    document.head.append(script);
  });

/** Loaded with the first search: scripts rather than data, because a page that was opened as a file may not fetch. */
async function openIndex(): Promise<(query: string) => Found[]> {
  await Promise.all([loadScript('minisearch.js'), loadScript('search-data.js')]);
  const documents = searchData.map(([path, title, heading, text], id) => ({
    id,
    path,
    title,
    heading,
    text,
  }));
  const index = new MiniSearch<(typeof documents)[number]>({
    fields: ['heading', 'title', 'text'],
    searchOptions: {
      boost: { heading: 4, title: 2 },
      combineWith: 'AND',
      prefix: true,
      // What explains comes before what lists, and before why it is so.
      boostDocument: (id) => (/^(?:decisions|reference|changelog)/.test(documents[id]?.path ?? '') ? 0.4 : 1),
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    },
  });
  index.addAll(documents);
  return (query) =>
    index
      .search(query)
      .slice(0, MAX_FOUND)
      .flatMap(({ id }) => documents[id] ?? []);
}

/** A stretch of the text around the first of the words. */
function excerptOf(text: string, query: string): string {
  const word = query.trim().split(/\s+/)[0]?.toLowerCase() ?? '';
  const at = Math.max(0, text.toLowerCase().indexOf(word) - EXCERPT_CHARS / 4);
  const start = at === 0 ? 0 : text.indexOf(' ', at) + 1;
  const end = start + EXCERPT_CHARS;
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`;
}

function startSearch(input: HTMLInputElement, panel: HTMLElement): void {
  let opening: ReturnType<typeof openIndex> | undefined;

  const show = (found: readonly Found[], query: string): void => {
    const links = found.map((one) => {
      const link = document.createElement('a');
      link.href = `${root}/${one.path}`;
      const title = document.createElement('strong');
      title.textContent =
        one.heading === '' || one.heading === one.title ? one.title : `${one.title} › ${one.heading}`;
      const excerpt = document.createElement('span');
      excerpt.className = 'excerpt';
      excerpt.textContent = excerptOf(one.text, query);
      link.append(title, excerpt);
      return link;
    });
    const count = document.createElement('p');
    count.setAttribute('role', 'status');
    count.textContent =
      found.length === 0
        ? `Nothing found for “${query}”.`
        : `${found.length === MAX_FOUND ? 'The best ' : ''}${found.length} found`;
    panel.replaceChildren(count, ...links);
    panel.hidden = false;
  };

  const search = async (): Promise<void> => {
    const query = input.value;
    if (query.trim() === '') {
      panel.hidden = true;
      return;
    }
    opening ??= openIndex();
    const find = await opening;
    // What was typed meanwhile has a search of its own.
    if (query === input.value) show(find(query), query);
  };

  const close = (): void => {
    panel.hidden = true;
  };
  input.addEventListener('input', () => void search());
  input.addEventListener('focus', () => void search());
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === '/' && !isTyping) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === 'Escape') close();
    if (panel.hidden || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return;
    const places = [input, ...panel.querySelectorAll('a')];
    const at = places.findIndex((place) => place.matches(':focus'));
    if (at < 0) return;
    event.preventDefault();
    places[(at + (event.key === 'ArrowDown' ? 1 : places.length - 1)) % places.length]?.focus();
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') panel.querySelector('a')?.click();
  });
  document.addEventListener('click', ({ target }) => {
    if (target instanceof Node && !panel.contains(target) && target !== input) close();
    if (target instanceof Element && panel.contains(target) && target.closest('a') !== null) close();
  });
}

function startTheme(button: HTMLElement): void {
  const isDark = (): boolean => {
    const chosen = document.documentElement.dataset.theme;
    return chosen === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : chosen === 'dark';
  };
  const name = (): void => {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', isDark() ? 'Light colours' : 'Dark colours');
  };
  button.hidden = false;
  name();
  button.addEventListener('click', () => {
    const next = isDark() ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem('docs-theme', next);
    } catch {
      // Without storage the choice holds for this page.
    }
    name();
  });
}

/** The version becomes a choice where this site knows of others. */
function startVersions(version: HTMLElement): void {
  if (versions.length < 2) return;
  const select = document.createElement('select');
  select.setAttribute('aria-label', 'Version');
  for (const { name, href } of versions)
    select.add(new Option(name, `${root}/${href}/index.html`, false, name === version.textContent));
  select.addEventListener('change', () => location.assign(select.value));
  version.replaceWith(select);
}

const input = document.querySelector<HTMLInputElement>('#search');
const panel = document.querySelector<HTMLElement>('#found');
const button = document.querySelector<HTMLElement>('#theme');
const version = document.querySelector<HTMLElement>('.version');
if (input !== null && panel !== null) startSearch(input, panel);
if (button !== null) startTheme(button);
if (version !== null) startVersions(version);
