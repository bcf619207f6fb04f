/** `npm run console:pictures -- [FOLDER]`: a picture of each page, light and dark, on a phone and on a wide screen. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runConsole } from './run-console.ts';
import { seed } from './seed.ts';

const [folder = 'console-pictures'] = process.argv.slice(2);

const SCREENS = { phone: { width: 360, height: 780 }, wide: { width: 1440, height: 900 } } as const;
const SCHEMES = ['light', 'dark'] as const;

const PICTURES: Readonly<Record<string, string>> = {
  keys: '/console/keys',
  'new-key': '/console/keys?new=true',
  teams: '/console/teams',
  channels: '/console/channels',
  models: '/console/models',
  model: '/console/models?model=gpt-5.2',
  sessions: '/console/sessions',
  jobs: '/console/jobs',
  audit: '/console/audit',
  configuration: '/console/configuration',
  'configuration-check': '/console/configuration?view=check',
};

await mkdir(folder, { recursive: true });
const running = await runConsole(process.env.CHROMIUM_PATH);
try {
  const { keyId } = await seed(running);
  const pictures = { ...PICTURES, key: `/console/keys?key=${keyId}` };
  for (const [screen, viewport] of Object.entries(SCREENS))
    for (const colorScheme of SCHEMES) {
      const { page, problems, signIn } = await running.open({ viewport, colorScheme });
      await page.goto('/console/sign-in');
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await page.screenshot({ path: join(folder, `sign-in-${screen}-${colorScheme}.png`) });
      await signIn();
      for (const [name, path] of Object.entries(pictures)) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('networkidle');
        await page.screenshot({ path: join(folder, `${name}-${screen}-${colorScheme}.png`) });
      }
      for (const problem of problems) console.error(`${screen}, ${colorScheme}: ${problem}`);
      await page.context().close();
    }
  console.log(`The pictures are in ${folder}.`);
} finally {
  await running.close();
}
