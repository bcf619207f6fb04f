import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/** Files that lie in the folder itself. Where a list does not name them, they may import from all of its folders. */
const OWN_FILES = '.';

/**
 * The folders of an app that is large enough to need an order, from below. A folder imports only from floors below its own, so that
 * none of them go in a circle. Tests, and what they share in `testing/`, are free; so is `large/`, from which the others ask a thread
 * for their own work: its module is another entry.
 */
const FLOORS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'apps/text/src': [
    ['wire'],
    ['neutral', 'stored'],
    ['protocols', 'metering'],
    ['batches', 'conversion', 'background', 'call'],
    ['passthrough', 'translation'],
    ['compaction'],
    ['endpoints'],
    ['sockets'],
  ],
  'apps/text/src/wire': [[OWN_FILES], ['stream', 'tokens']],
  'apps/text/src/stored': [['origins'], ['store']],
  'apps/text/src/protocols': [['caller-tools'], ['chat', 'converse', 'gemini', 'messages', 'responses']],
  'apps/text/src/call': [
    ['request'],
    ['history', 'content'],
    ['candidates', 'accounting'],
    ['attempts', 'storing'],
    ['hooks'],
  ],
};

/** Folders without a floor. */
const FREE = ['large'];

export interface SourceFile {
  /** From the root: `apps/text/src/wire/usage.ts`. */
  readonly path: string;
  readonly text: string;
}

const IMPORT = /\bfrom '(\.[^']+)'|\bimport\('(\.[^']+)'\)|\bimport '(\.[^']+)'|new URL\('(\.[^']+\.ts)'/g;

const importsOf = ({ path, text }: SourceFile): string[] =>
  [...text.matchAll(IMPORT)].map((found) => normalize(join(dirname(path), found.slice(1).join(''))));

/** A sentence for each import that goes up, or beside, and for each folder that has no floor. */
export function findFolderBreaches(files: readonly SourceFile[], floors = FLOORS): string[] {
  const breaches = Object.entries(floors).flatMap(([folder, order]) => {
    /** The folder's own part that a path lies in; undefined for one outside. */
    const partOf = (path: string): string | undefined => {
      const [part, ...rest] = relative(folder, path).split('/');
      if (part === '..') return undefined;
      return rest.length === 0 ? OWN_FILES : part;
    };
    const floorOf = (part: string): number | undefined => {
      const floor = order.findIndex((parts) => parts.includes(part));
      return floor >= 0 ? floor : part === OWN_FILES ? order.length : undefined;
    };
    return files.flatMap((file) => {
      const part = partOf(file.path);
      if (part === undefined || FREE.includes(part)) return [];
      const floor = floorOf(part);
      if (floor === undefined) return [`${folder}/${part} has no floor in the order of its folders`];
      return importsOf(file).flatMap((target) => {
        const other = partOf(target);
        if (
          other === undefined ||
          other === part ||
          FREE.includes(other) ||
          (floorOf(other) ?? floor) < floor
        )
          return [];
        return [`${file.path} must not import ${target}`];
      });
    });
  });
  return [...new Set(breaches)];
}

export const readSources = (root: string): SourceFile[] =>
  Object.keys(FLOORS)
    .filter((folder) => !Object.keys(FLOORS).includes(dirname(folder)))
    .flatMap((folder) =>
      globSync(`${folder}/**/*.ts`, { cwd: root })
        .filter((path) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
        .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
    );
