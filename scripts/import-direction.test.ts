import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFolderBreaches, readSources } from './folder-order.ts';
import { findBreaches, readManifests } from './import-direction.ts';

const root = join(import.meta.dirname, '..');
const manifests = readManifests(root);

const withDependency = (folder: string, field: 'dependencies' | 'devDependencies', name: string) =>
  findBreaches(
    manifests.map((manifest) =>
      manifest.folder === folder ? { ...manifest, [field]: [...manifest[field], name] } : manifest,
    ),
  );

test('the workspace keeps to the direction', () => {
  expect(manifests.length).toBeGreaterThan(12);
  expect(findBreaches(manifests)).toEqual([]);
});

test.for([
  ['apps/edge', 'dependencies', '@gateway/text', 'an app imports an app'],
  ['apps/edge', 'devDependencies', '@gateway/text', 'an app imports an app in its tests'],
  ['apps/text', 'dependencies', '@gateway/simulator', 'an app runs the simulator'],
  ['apps/text', 'dependencies', '@gateway/stack', 'an app runs the stack'],
  ['packages/jobs', 'dependencies', '@gateway/metering', 'a middle package imports another'],
  ['packages/model-service', 'dependencies', '@gateway/text', 'the layer for services imports a service'],
  [
    'packages/model-service',
    'dependencies',
    '@gateway/forms',
    'the layer for services imports more than its list',
  ],
  ['packages/jobs', 'dependencies', '@gateway/model-service', 'a middle package imports the layer above it'],
  ['packages/jobs', 'dependencies', '@gateway/testkit', 'a package needs the testkit to run'],
  ['packages/contracts', 'dependencies', 'express', 'the contracts import more than zod'],
  ['packages/contracts', 'dependencies', '@gateway/jobs', 'the contracts import a package'],
  ['packages/testkit', 'dependencies', '@gateway/stack', 'the testkit imports the stack'],
] as const)('%s with %s on %s is refused: %s', ([folder, field, name]) => {
  expect(withDependency(folder, field, name)).toHaveLength(1);
});

test('the folders of the text service keep to their order', () => {
  const sources = readSources(root);
  expect(sources.length).toBeGreaterThan(250);
  expect(findFolderBreaches(sources)).toEqual([]);
});

const FLOORS = { app: [['low'], ['one', 'other'], ['high']], 'app/low': [['.'], ['inner']] };

test.for([
  ['app/low/a.ts', "import { b } from '../high/b.ts';", 'a folder imports from above'],
  ['app/one/a.ts', "export { b } from '../other/deep/b.ts';", 'a folder imports from beside'],
  ['app/one/a.ts', "await import('../high/b.ts')", 'an import at run time goes up'],
  ['app/one/a.ts', "import { main } from '../main.ts';", 'a folder imports a file of the top'],
  ['app/low/a.ts', "import type { b } from './inner/b.ts';", 'a type comes from above within a folder'],
  ['app/new/a.ts', '', 'a folder has no floor'],
] as const)('%s with %s is refused: %s', ([path, text]) => {
  expect(findFolderBreaches([{ path, text }], FLOORS)).toHaveLength(1);
});

test.for([
  ['app/high/a.ts', "import { b } from '../low/inner/b.ts';"],
  ['app/one/a.ts', "import { b } from './deep/b.ts';"],
  ['app/main.ts', "import { b } from './high/b.ts';"],
  ['app/low/inner/a.ts', "import { b } from '../b.ts';"],
  ['app/low/a.ts', "import { b } from '../../elsewhere/b.ts';"],
] as const)('%s may: %s', ([path, text]) => {
  expect(findFolderBreaches([{ path, text }], FLOORS)).toEqual([]);
});
