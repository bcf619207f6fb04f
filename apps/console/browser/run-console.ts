import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { type Stack, startStack } from '@gateway/stack/start-stack';
import { freePort } from '@gateway/testkit/free-port';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findChromium } from './find-chromium.ts';

/** Two channels of the simulator, and one that nobody answers on. */
const configurationOf = (origin: string): string => `
channels:
  openai: { provider: openai-compatible, baseUrl: ${origin}/v1, speaks: [responses, chat, images, speech, transcriptions, realtime], apiKeys: { main: { apiKey: one, maxConcurrent: 50 }, spare: two } }
  claude: { provider: anthropic, baseUrl: ${origin}, apiKey: three }
  local: { provider: vllm, baseUrl: "http://127.0.0.1:9/v1" }
models:
  gpt-5.2:
    kind: text
    price: { inputPerMTok: 1.25, cachedInputPerMTok: 0.125, outputPerMTok: 10 }
    routes:
      - { channel: openai }
      - { channel: local, model: big-model, priority: 1 }
  "claude-*": { kind: text, routes: [{ channel: claude }] }
  in-house: { kind: text, routes: [{ channel: local }] }
  dall-e-3: { kind: image, family: dall-e-3, routes: [{ channel: openai }], price: { perImage: 0.04 } }
  gpt-image-1.5: { kind: image, routes: [{ channel: openai }] }
  gpt-4o-mini-tts: { kind: speech, routes: [{ channel: openai }], price: { perMillionChars: 15 } }
  whisper-1: { kind: transcription, routes: [{ channel: openai }], price: { perMinute: 0.006 } }
  gpt-realtime: { kind: realtime, routes: [{ channel: openai }] }
contentLog: { rules: [{ models: ["claude-*"], mayOptOut: true }] }
hooks:
  away: { kind: generic, baseUrl: "http://127.0.0.1:9", output: window, onFailure: pass, rules: [{ models: [claude-checked] }] }
alerts:
  receivers:
    ops: { type: slack, url: "http://127.0.0.1:9/services/T000/B000/secret" }
    support: { type: teams, url: "\${TEAMS_WORKFLOW_URL}" }
    people: { type: email, smtpUrl: "\${SMTP_URL}", from: gateway@example.com, to: [ops@example.com, ann@example.com] }
  rules:
    - { receivers: [ops], severity: urgent, repeatHours: 4 }
    - { receivers: [people], kinds: [budget_near, budget_spent, key_expiring], teams: [platform], afterSeconds: 0, maxRepeats: 0 }
  quietHours: { from: "00:00", to: "00:00", days: [saturday, sunday] }
  weeklyReport: { receivers: [people] }
`;

/** Nobody answers there. */
const NO_MAIL = { SMTP_URL: 'smtp://127.0.0.1:9' };

/** A gateway with its console, and a browser of the test's own. */
export interface RunningConsole {
  readonly stack: Stack;
  readonly simulator: Simulator;
  /** Where the configuration file is, or is looked for. */
  readonly configurationPath: string;
  /** The admin service's base URL. */
  readonly url: string;
  /** What its processes have written, line by line. */
  readonly lines: readonly string[];
  /** Makes a call of the admin API with the admin token. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** A page in a browser profile of its own. What its console says of errors and of the page's policy goes to `problems`. */
  open(options?: BrowserContextOptions): Promise<OpenPage>;
  close(): Promise<void>;
}

export interface OpenPage {
  readonly page: Page;
  readonly problems: readonly string[];
  /** Gives the page's profile the cookie of a new session. */
  signIn(name?: string): Promise<void>;
}

/** Browsers say so of every answer that is an error; pages show those themselves. */
const EXPECTED = /Failed to load resource: the server responded with a status of/;

/**
 * Starts the whole gateway with the console's current build, and a browser.
 *
 * @param envFor further settings, which may need to know the admin service's address
 * @param hasFile whether it has a configuration file; else the gateway's own simulator answers
 */
export async function runConsole(
  chromiumPath: string | undefined,
  envFor: (adminUrl: string) => Readonly<Record<string, string>> = () => ({}),
  { hasFile = true }: { readonly hasFile?: boolean } = {},
): Promise<RunningConsole> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const simulator = resources.adopt(await startSimulator(), (owned) => owned.close());
  const dataDir = join(folder.path, 'data');
  const configurationPath = join(hasFile ? folder.path : dataDir, 'gateway.yaml');
  if (hasFile) await writeFile(configurationPath, configurationOf(simulator.url));
  const ports = { PORT: `${await freePort()}`, ADMIN_PORT: `${await freePort()}`, EDGE_METRICS_PORT: '0' };
  const lines: string[] = [];
  const stack = resources.adopt(
    await startStack({
      dataDir,
      ...(hasFile && { configurationPath }),
      // Jobs that a test has left at work need not end.
      env: {
        ...ports,
        DRAIN_TIMEOUT_MS: '200',
        ...NO_MAIL,
        ...envFor(`http://127.0.0.1:${ports.ADMIN_PORT}`),
      },
      ports: 'fixed',
      onLines: (_process, written) => lines.push(...written),
      mode: 'one',
    }),
    (owned) => owned.stop(),
  );
  const { adminUrl } = stack;
  if (adminUrl === null) throw new Error('the admin service does not run');
  const executablePath = await findChromium(chromiumPath);
  // Chromium's own sandbox does not work for root, as whom containers run tests.
  const args = [
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    // A microphone that hums, for those pages that a test allows it.
    '--use-fake-device-for-media-stream',
  ];
  const browser = resources.adopt(await chromium.launch({ executablePath, args }), (owned) => owned.close());
  const owned = resources.move();
  return {
    stack,
    simulator,
    configurationPath,
    url: adminUrl,
    lines,
    call: async (method, path, body) => {
      const response = await fetch(`${adminUrl}/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.json();
    },
    open: (options) => openPage(browser, { url: adminUrl, token: stack.adminToken, ...options }),
    close: () => owned.disposeAsync(),
  };
}

async function openPage(
  browser: Browser,
  { url: adminUrl, token, ...options }: BrowserContextOptions & { url: string; token: string },
): Promise<OpenPage> {
  const url = options.baseURL ?? adminUrl;
  const context = await browser.newContext({ baseURL: url, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(?:data|blob):/.test(request.url()))
      problems.push(`asked another server: ${request.url()}`);
  });
  return {
    page,
    problems,
    signIn: async (name = 'ann') => {
      const data = { token, name };
      const answer = await context.request.post('/admin/v1/session', { data, headers: { origin: url } });
      if (!answer.ok()) throw new Error(`sign-in: ${answer.status()} ${await answer.text()}`);
    },
  };
}
