import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findBreaches, readManifests } from './import-direction.ts';

const manifests = readManifests(join(import.meta.dirname, '..'));

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
