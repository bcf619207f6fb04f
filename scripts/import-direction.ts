/**
 * Imports point one way. A package can only import what its package.json declares, because pnpm gives it nothing else;
 * so the rule is checked on the manifests. Inside a large app folders have an order (`folder-order.ts`), and the rule is checked on
 * its files. `node scripts/import-direction.ts` prints what breaks it.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findFolderBreaches, readSources } from './folder-order.ts';

interface Manifest {
  /** Folder from the root: `apps/edge`. */
  readonly folder: string;
  readonly name: string;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

/** Where bytes lie, and how Redis is used. Below the middle: what needs to keep something uses them. */
const ASSETS = 'packages/assets';
const REDIS = 'packages/redis';

/** How stored conversations lie in Redis, and how they go to the database and back: what the text service and the recorder share. */
const CONVERSATIONS = 'packages/conversations';

const MIDDLE = [
  'packages/service-kit',
  'packages/upstream',
  'packages/metering',
  'packages/jobs',
  'packages/forms',
];

/** The layer above the middle packages, for model services; only apps may use it. */
const MODEL_SERVICE = 'packages/model-service';

/** Calls of models that answer at once, for the service that takes them and for the lines of batches; only apps may use it. */
const MODEL_CALLS = 'packages/model-calls';

/** Who checks the texts of requests, for the model services; only apps may use it. */
const HOOKS = 'packages/hooks';

/** What lasts, in a database: above the package that writes the streams that it reads. */
const RECORDS = 'packages/records';

/** The workspace packages that each folder may use when it runs. A folder that is not named here may use no workspace package at all. */
const MAY_USE: Readonly<Record<string, readonly string[]>> = {
  'packages/service-kit': [REDIS, 'packages/contracts'],
  'packages/upstream': [REDIS, 'packages/contracts'],
  'packages/metering': [REDIS, 'packages/contracts'],
  [ASSETS]: ['packages/contracts'],
  [REDIS]: ['packages/contracts'],
  [CONVERSATIONS]: [REDIS],
  'packages/jobs': [ASSETS, REDIS, 'packages/contracts'],
  'packages/forms': ['packages/contracts'],
  [MODEL_SERVICE]: [
    'packages/service-kit',
    'packages/upstream',
    'packages/metering',
    'packages/jobs',
    ASSETS,
    REDIS,
    'packages/contracts',
  ],
  [MODEL_CALLS]: [
    MODEL_SERVICE,
    'packages/service-kit',
    'packages/upstream',
    'packages/metering',
    'packages/contracts',
  ],
  [HOOKS]: ['packages/service-kit', 'packages/upstream', 'packages/contracts'],
  [RECORDS]: ['packages/metering', CONVERSATIONS, REDIS, 'packages/contracts'],
  'packages/simulator': ['packages/contracts'],
  'packages/stack': [
    'packages/service-kit',
    'packages/upstream',
    REDIS,
    'packages/redis-server',
    RECORDS,
    'packages/contracts',
  ],
  bench: [
    'packages/jobs',
    'packages/metering',
    RECORDS,
    'packages/redis-server',
    'packages/stack',
    'packages/contracts',
  ],
  'packages/testkit': ['packages/redis-server', 'packages/contracts'],
};
const APPS_MAY_USE = [
  MODEL_SERVICE,
  MODEL_CALLS,
  HOOKS,
  RECORDS,
  CONVERSATIONS,
  ...MIDDLE,
  ASSETS,
  REDIS,
  'packages/contracts',
];

/** Runs the other apps in one process: the only app that may use apps. */
const GATEWAY = 'apps/gateway';
const PARTS = ['edge', 'text', 'image', 'audio', 'retrieval', 'admin'].map((name) => `apps/${name}`);

function usableBy(folder: string): readonly string[] {
  if (folder === GATEWAY) return [...PARTS, ...APPS_MAY_USE];
  return folder.startsWith('apps/') ? APPS_MAY_USE : (MAY_USE[folder] ?? []);
}

/** What anybody may use in tests only. */
const TESTS_MAY_USE = [
  ...MIDDLE,
  RECORDS,
  ASSETS,
  REDIS,
  'simulator',
  'testkit',
  'stack',
  'redis-server',
  'contracts',
].map((name) => (name.includes('/') ? name : `packages/${name}`));

/** Folders that may use only these packages from outside. */
const OUTSIDE: Readonly<Record<string, readonly string[]>> = { 'packages/contracts': ['zod'] };

/** A sentence for each breach. */
export function findBreaches(manifests: readonly Manifest[]): string[] {
  const folderOf = new Map(manifests.map(({ name, folder }) => [name, folder]));
  return manifests.flatMap(({ folder, dependencies, devDependencies }) => {
    const allowed = usableBy(folder);
    const outside = OUTSIDE[folder];
    const breaches: string[] = [];
    for (const name of dependencies) {
      const target = folderOf.get(name);
      if (target === undefined ? outside?.includes(name) === false : !allowed.includes(target))
        breaches.push(`${folder} must not depend on ${target ?? name}`);
    }
    for (const name of devDependencies) {
      const target = folderOf.get(name);
      if (target !== undefined && !TESTS_MAY_USE.includes(target))
        breaches.push(`${folder} must not depend on ${target}, not even in tests`);
    }
    return breaches;
  });
}

const namesIn = (manifest: Record<string, unknown>, field: string): string[] => {
  const section = manifest[field];
  return typeof section === 'object' && section !== null ? Object.keys(section) : [];
};

export function readManifests(root: string): Manifest[] {
  return globSync(
    ['apps/*/package.json', 'packages/*/package.json', 'tests/package.json', 'bench/package.json'],
    {
      cwd: root,
    },
  ).map((file) => {
    const manifest: Record<string, unknown> = JSON.parse(readFileSync(join(root, file), 'utf8'));
    return {
      folder: dirname(file),
      name: String(manifest.name),
      dependencies: ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((field) =>
        namesIn(manifest, field),
      ),
      devDependencies: namesIn(manifest, 'devDependencies'),
    };
  });
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const breaches = [...findBreaches(readManifests(root)), ...findFolderBreaches(readSources(root))];
  for (const breach of breaches) console.error(breach);
  process.exitCode = breaches.length > 0 ? 1 : 0;
}
