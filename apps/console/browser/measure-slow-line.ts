import { z } from 'zod';
import { openSlowLine } from './open-slow-line.ts';
import type { RunningConsole } from './run-console.ts';

/** What a reader of a page came for. */
interface Content {
  /** The first of it, as a selector. */
  readonly shown: string;
  /** The call that brings it; null: it is a part of the page. */
  readonly call: string | null;
}

const FIRST_ROW = 'main [role=row] >> nth=1';
const rowsOf = (call: string): Content => ({ shown: FIRST_ROW, call: `/admin/v1/${call}` });

/** The pages of the navigation. */
export const PAGES_WITH_CONTENT = {
  '/overview': { shown: 'main :text-matches("^[0-9.,]+ ?[kM]?$")', call: '/admin/v1/usage' },
  '/requests': rowsOf('requests'),
  '/usage': rowsOf('usage'),
  '/playground': { shown: 'main textarea', call: null },
  '/keys': rowsOf('keys'),
  '/teams': rowsOf('teams'),
  '/people': rowsOf('people'),
  '/roles': { shown: 'main section tr >> nth=1', call: '/admin/v1/roles' },
  '/channels': { shown: 'main :text("claude")', call: '/admin/v1/channels' },
  '/models': rowsOf('models'),
  '/jobs': rowsOf('jobs'),
  '/webhooks': rowsOf('webhooks'),
  '/configuration': { shown: 'main .cm-line >> nth=0', call: '/admin/v1/configuration' },
  '/alerts': { shown: 'main :text("ops")', call: '/admin/v1/alerts' },
  '/audit': rowsOf('audit'),
  '/sessions': rowsOf('sessions'),
} as const satisfies Readonly<Record<string, Content>>;
export type MeasuredPage = keyof typeof PAGES_WITH_CONTENT;

/** On a busy machine a browser stands still for longer than a page takes to load. */
const PATIENCE_MS = 90_000;

interface Measured {
  /** From the beginning of the navigation until the content is there. */
  readonly contentMs: number;
  /** What was loaded until then, as it was sent. */
  readonly bytes: number;
  /** The longest sequence of requests up to that of the content, of which each began after the one before it had ended. */
  readonly chain: readonly string[];
  /** The sum of layout shifts of the page until it is idle: CLS, without windows. */
  readonly shift: number;
}

const OBSERVE_SHIFTS = `
  globalThis.shifts = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifts += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
`;

const Sent = z.object({
  requestId: z.string(),
  timestamp: z.number(),
  request: z.object({ url: z.string() }),
});
const Ended = z.object({ requestId: z.string(), timestamp: z.number(), encodedDataLength: z.number() });

interface Load {
  readonly url: string;
  readonly beganAt: number;
  endedAt: number;
  bytes: number;
}

/** Opens a page of the console with an empty cache, on a slow line. */
export async function measureOnSlowLine(
  running: Pick<RunningConsole, 'url' | 'open'>,
  path: MeasuredPage,
): Promise<Measured> {
  const { shown, call } = PAGES_WITH_CONTENT[path];
  const { page, problems, signIn } = await running.open();
  await signIn();
  const line = await openSlowLine(new URL(running.url));
  try {
    await page.addInitScript(OBSERVE_SHIFTS);
    page.setDefaultTimeout(PATIENCE_MS);
    const session = await page.context().newCDPSession(page);
    const loads = new Map<string, Load>();
    session.on('Network.requestWillBeSent', (event) => {
      const { requestId, timestamp, request } = Sent.parse(event);
      loads.set(requestId, { url: request.url, beganAt: timestamp, endedAt: Infinity, bytes: 0 });
    });
    session.on('Network.loadingFinished', (event) => {
      const { requestId, timestamp, encodedDataLength } = Ended.parse(event);
      const load = loads.get(requestId);
      if (load === undefined) return;
      load.endedAt = timestamp;
      load.bytes = encodedDataLength;
    });
    await session.send('Network.enable');
    await page.goto(`${line.url}/console${path}`, { waitUntil: 'commit' });
    await page
      .locator(shown)
      .first()
      .waitFor()
      .catch(async (cause: unknown) => {
        const loaded = [...loads.values()].map(
          ({ url, endedAt }) => `${endedAt < Infinity ? 'ended' : 'open'} ${url}`,
        );
        const text = await page.locator('body').ariaSnapshot();
        throw new Error([`${path} does not show ${shown}, but:`, text, ...loaded, ...problems].join('\n'), {
          cause,
        });
      });
    const contentMs = z.number().parse(await page.evaluate('performance.now()'));
    const ended = [...loads.values()].filter(({ endedAt }) => endedAt < Infinity);
    await page.waitForLoadState('networkidle');
    const shift = z.number().parse(await page.evaluate('globalThis.shifts'));
    return {
      contentMs,
      bytes: ended.reduce((sum, { bytes }) => sum + bytes, 0),
      chain: chainTo(ended, call).map(({ url }) => new URL(url).pathname + new URL(url).search),
      shift,
    };
  } finally {
    await page.context().close();
    line.close();
  }
}

/** @param call the path of the last one; null: of any */
function chainTo(loads: readonly Load[], call: string | null): readonly Load[] {
  const chains = new Map<Load, readonly Load[]>();
  const longest = (of: readonly (readonly Load[])[]): readonly Load[] =>
    of.toSorted((a, b) => b.length - a.length).at(0) ?? [];
  // The page's icon is nothing that anything waits for.
  const counted = loads.filter(({ url }) => !url.endsWith('.svg'));
  for (const load of counted.toSorted((a, b) => a.beganAt - b.beganAt)) {
    const before = [...chains].filter(([one]) => one.endedAt <= load.beganAt).map(([, chain]) => chain);
    const chain = [...longest(before), load];
    if (new URL(load.url).pathname === call) return chain;
    chains.set(load, chain);
  }
  return longest([...chains.values()]);
}
