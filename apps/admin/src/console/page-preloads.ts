import { z } from 'zod';

/** What the build says of a module: its file, the stylesheets that come with it, the modules that it imports at once. */
const Manifest = z.record(
  z.string(),
  z.looseObject({
    file: z.string(),
    css: z.array(z.string()).default([]),
    imports: z.array(z.string()).default([]),
  }),
);
type Manifest = z.infer<typeof Manifest>;

const ENTRY = 'index.html';
/** A module of a page, by its folder, which is also the first part of the page's path. */
const PAGE_MODULE = /^src\/pages\/([\w-]+)\/([\w-]+)-page\.tsx$/;
const SHELL_MODULE = /^src\/shell\/([\w-]+)-page\.tsx$/;
/** Where most people land. */
const FIRST = 'overview';

/**
 * Elements for the head of the page: the files of what this path shows, and who is signed in, are loaded beside the first script, not
 * after it has run.
 *
 * @param manifest the text of the build's `manifest.json`
 * @param path below `/console`
 * @param basePath the path below which browsers see this service
 */
export function preloadsOf(manifest: string, path: string, basePath: string): string {
  const modules = Manifest.parse(JSON.parse(manifest));
  const [area = '', id] = path.split('/').filter((part) => part !== '');
  const names = Object.keys(modules);
  const isOfShell = names.some((name) => SHELL_MODULE.exec(name)?.[1] === area);
  const session = `<link rel="preload" as="fetch" crossorigin href="${basePath}/admin/v1/session">`;
  const module = names.find((name) => isModuleOf(name, area === '' ? FIRST : area, id !== undefined));
  const known = filesOf(modules, ENTRY);
  const files = module === undefined ? [] : [...filesOf(modules, module)].filter((file) => !known.has(file));
  return [
    ...(isOfShell ? [] : [session]),
    ...files.map((file) =>
      file.endsWith('.css')
        ? `<link rel="stylesheet" crossorigin href="${basePath}/console/${file}">`
        : `<link rel="modulepreload" crossorigin href="${basePath}/console/${file}">`,
    ),
  ].join('');
}

function isModuleOf(name: string, area: string, isOne: boolean): boolean {
  if (SHELL_MODULE.exec(name)?.[1] === area) return true;
  const [, folder, page] = PAGE_MODULE.exec(name) ?? [];
  // Beside the page of a list there is that of one of its things.
  return folder === area && (page === area) !== isOne;
}

function filesOf(modules: Manifest, name: string, files = new Set<string>()): ReadonlySet<string> {
  const module = modules[name];
  if (module === undefined || files.has(module.file)) return files;
  for (const file of [module.file, ...module.css]) files.add(file);
  for (const one of module.imports) filesOf(modules, one, files);
  return files;
}
