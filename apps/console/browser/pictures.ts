/** `npm run console:pictures -- [FOLDER [PAGE…]]`: a picture of each page, light and dark, on a phone and on a wide screen. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DRAFT_SCENES, seedRevisions } from './draft-scenes.ts';
import { PLAYGROUND_SCENES, playgroundPath } from './play.ts';
import { runConsole } from './run-console.ts';
import { seed } from './seed.ts';
import { seedPast } from './seed-past.ts';

const [folder = 'console-pictures', ...only] = process.argv.slice(2);
const isWanted = (name: string): boolean => only.length === 0 || only.includes(name);

const SCREENS = { phone: { width: 360, height: 780 }, wide: { width: 1440, height: 900 } } as const;
const SCHEMES = ['light', 'dark'] as const;

const PICTURES: Readonly<Record<string, string>> = {
  overview: '/console/overview?range=7d',
  'overview-everything': '/console/overview?by=all',
  requests: '/console/requests',
  live: '/console/requests?live=true',
  playground: '/console/playground',
  'playground-transcription': '/console/playground?family=transcription',
  usage: '/console/usage?range=7d&show=requests',
  'usage-by-key': '/console/usage?range=7d&groupBy=keyId,model&show=totalP95',
  'usage-empty': '/console/usage?from=2020-01-01&to=2020-01-05',
  keys: '/console/keys',
  'new-key': '/console/keys?new=true',
  'keys-by-spend': '/console/keys?sort=spend',
  teams: '/console/teams',
  'team-page': '/console/teams/platform?range=7d',
  people: '/console/people',
  'invite-person': '/console/people?new=true',
  groups: '/console/people?groups=true',
  roles: '/console/roles',
  channels: '/console/channels',
  'channel-page': '/console/channels/claude',
  models: '/console/models',
  model: '/console/models?model=gpt-5.2',
  'model-page': '/console/models/gpt-5.2',
  sessions: '/console/sessions',
  jobs: '/console/jobs',
  alerts: '/console/alerts',
  webhooks: '/console/webhooks',
  audit: '/console/audit',
  configuration: '/console/configuration',
  'configuration-check': '/console/configuration?view=check',
  'configuration-edit': '/console/configuration?view=edit',
};

await mkdir(folder, { recursive: true });
const running = await runConsole(process.env.CHROMIUM_PATH, () => ({ CONFIGURATION_SOURCE: 'database' }));
try {
  const { keyId, requestId, jobId, batchId, personId } = await seed(running);
  await seedPast(running.stack.redisUrl, keyId);
  await seedRevisions(running);
  const scenes = {
    ...Object.fromEntries(
      Object.entries(PLAYGROUND_SCENES).map(([name, { view, play }]) => [
        name,
        { path: playgroundPath({ key: keyId, ...view }), play },
      ]),
    ),
    ...DRAFT_SCENES,
  };
  const pictures = {
    ...PICTURES,
    key: `/console/keys?key=${keyId}`,
    'key-page': `/console/keys/${keyId}`,
    'short-range': '/console/overview?range=1h',
    filtered: '/console/requests?failed=true&owner=ann',
    request: `/console/requests?request=${requestId}`,
    job: `/console/jobs?job=${jobId}`,
    batch: `/console/jobs?job=${batchId}`,
    person: `/console/people?person=${personId}`,
  };
  for (const [screen, viewport] of Object.entries(SCREENS))
    for (const colorScheme of SCHEMES) {
      const { page, problems, signIn } = await running.open({ viewport, colorScheme });
      await page.goto('/console/sign-in');
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      if (isWanted('sign-in'))
        await page.screenshot({ path: join(folder, `sign-in-${screen}-${colorScheme}.png`) });
      await signIn();
      for (const [name, path] of Object.entries(pictures).filter(([name]) => isWanted(name))) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('networkidle');
        // Charts come with a library of their own.
        await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
        await page.screenshot({ path: join(folder, `${name}-${screen}-${colorScheme}.png`) });
      }
      for (const [name, { path, play }] of Object.entries(scenes).filter(([name]) => isWanted(name))) {
        await page.goto(path);
        await play(page);
        await page.screenshot({ path: join(folder, `${name}-${screen}-${colorScheme}.png`) });
      }
      for (const problem of problems) console.error(`${screen}, ${colorScheme}: ${problem}`);
      await page.context().close();
    }
  console.log(`The pictures are in ${folder}.`);
} finally {
  await running.close();
}
