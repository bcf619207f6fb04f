import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '@gateway/testkit/find-program';
import { freePort } from '@gateway/testkit/free-port';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alertsOf } from '../scripts/dashboards/alerts.ts';
import { BOARDS } from '../scripts/dashboards/boards.ts';
import { dashboardOf, type Target } from '../scripts/dashboards/dashboard.ts';
import { callRealtime, SILENCE, SOUND, speak } from './support/realtime.ts';
import { startGateway } from './support/start-gateway.ts';

/** What `deploy/grafana` and `deploy/prometheus` show and watch, asked of a real Prometheus that reads a running gateway. */

const run = promisify(execFile);
const DEPLOY = join(import.meta.dirname, '../deploy');
const BOARDS_FOLDER = join(DEPLOY, 'grafana/dashboards');

const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});
const Answer = z.object({ data: z.object({ result: z.array(z.unknown()) }) });

const TARGETS: readonly (Target & { readonly of: string })[] = BOARDS.flatMap(({ title, panels }) =>
  panels.flatMap((panel) => panel.targets.map((target) => ({ ...target, of: `${title}: ${panel.title}` }))),
);

/** What Grafana fills in. */
const filledIn = (expr: string): string =>
  expr
    .replaceAll('$__rate_interval', '30s')
    .replaceAll('$__range', '5m')
    .replaceAll(/"\$\w+"/g, '".*"');

/** Names of the gateway's metrics in an expression, as `/metrics` names them. */
const metricsIn = (expr: string): readonly string[] =>
  [...expr.matchAll(/\bgateway_\w+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, ''));

test("each board is what its table says, and the alarms are the chart's: npm run monitoring", async () => {
  const files = await readdir(BOARDS_FOLDER);
  expect(files.toSorted()).toEqual(BOARDS.map(({ uid }) => `${uid}.json`).toSorted());
  for (const board of BOARDS) {
    const file: unknown = JSON.parse(await readFile(join(BOARDS_FOLDER, `${board.uid}.json`), 'utf8'));
    expect(file, board.uid).toEqual(JSON.parse(JSON.stringify(dashboardOf(board))));
  }
  const rules = await readFile(join(DEPLOY, 'helm/gateway/files/rules.yaml'), 'utf8');
  expect(await readFile(join(DEPLOY, 'prometheus/alerts.yaml'), 'utf8')).toBe(alertsOf(rules));
});

test('no panel lies over another one, and each says what it shows', () => {
  for (const board of BOARDS) {
    const { panels } = z
      .looseObject({
        panels: z.array(
          z.looseObject({
            description: z.string().min(10),
            gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
          }),
        ),
      })
      .parse(dashboardOf(board));
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  }
});

test('the alarms are sounded for what they are for, and for nothing else', async () => {
  // Debian has it in the package of Prometheus.
  const prometheus = await findProgram('prometheus');
  const promtool = join(prometheus, '../promtool');
  const cwd = join(DEPLOY, 'prometheus');
  await run(promtool, ['check', 'rules', 'alerts.yaml'], { cwd });
  await run(promtool, ['test', 'rules', 'alerts.test.yaml'], { cwd });
});

/** With prices, so that there is a cost to show. */
const configuration = (origin: string): string => `
channels:
  provider: { provider: simulator, baseUrl: "${origin}", apiKey: k }
models:
  gpt-5.2: { kind: text, routes: [{ channel: provider }], price: { inputPerMTok: 1000, cachedInputPerMTok: 100, outputPerMTok: 10000 } }
  gpt-realtime: { kind: realtime, routes: [{ channel: provider }], price: { inputPerMTok: 4 } }
  dall-e-3: { kind: image, family: dall-e-3, routes: [{ channel: provider }], price: { perImage: 0.04 } }
`;

test('a Prometheus that reads a running gateway has an answer to every panel and knows every metric of every alarm', async () => {
  await using resources = new AsyncDisposableStack();
  const workersPort = `${await freePort()}`;
  const gateway = resources.adopt(
    await startGateway({ mode: 'one', configuration, env: { WORKER_METRICS_PORT: workersPort } }),
    (owned) => owned.close(),
  );
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const pages = [new URL(gateway.stack.edgeMetricsUrl).host, `127.0.0.1:${workersPort}`];

  const listen = `127.0.0.1:${await freePort()}`;
  await mkdir(join(folder.path, 'data'));
  await writeFile(
    join(folder.path, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '1s' },
      scrape_configs: [{ job_name: 'gateway', static_configs: [{ targets: pages }] }],
    }),
  );
  const prometheus = spawn(
    await findProgram('prometheus'),
    [
      `--config.file=${join(folder.path, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder.path, 'data')}`,
      `--web.listen-address=${listen}`,
    ],
    { stdio: 'ignore' },
  );
  resources.defer(async () => {
    const ended = once(prometheus, 'close');
    prometheus.kill();
    await ended;
  });

  const answerTo = async (expr: string): Promise<number> => {
    const query = new URLSearchParams({ query: filledIn(expr) });
    const reply = await fetch(`http://${listen}/api/v1/query?${query}`).catch(() => null);
    if (reply === null) return 0;
    if (reply.status === 400) expect.fail(`${expr}: ${await reply.text()}`);
    if (!reply.ok) return 0;
    return Answer.parse(await reply.json()).data.result.length;
  };
  using session = await callRealtime(gateway);
  /** Rates are of what is counted between two readings: requests come again and again until every panel has its answer. */
  const ask = async (): Promise<void> => {
    await gateway.fetch('/v1/responses', { json: { model: 'gpt-5.2', input: 'Hello there', stream: true } });
    await gateway.fetch('/v1/images/generations', { json: { model: 'dall-e-3', prompt: 'A pier' } });
    for (const audio of [SOUND, SILENCE]) session.send(speak(audio));
    await session.next('response.done');
  };
  const unanswered = new Set(TARGETS.filter(({ isRare }) => isRare !== true));
  await waitFor(
    async () => {
      await ask();
      for (const target of unanswered) if ((await answerTo(target.expr)) > 0) unanswered.delete(target);
      return unanswered.size === 0;
    },
    { timeoutMs: 90_000 },
  ).catch(() => undefined);
  expect([...unanswered].map(({ of, expr }) => `${of}: ${expr}`)).toEqual([]);

  for (const { expr } of TARGETS) await answerTo(expr);
  const rules = Rules.parse(parse(await readFile(join(DEPLOY, 'prometheus/alerts.yaml'), 'utf8')));
  const alarms = rules.groups.flatMap(({ rules: own }) => own);
  for (const { expr } of alarms) await answerTo(expr);
  const known = (
    await Promise.all(pages.map(async (host) => (await fetch(`http://${host}/metrics`)).text()))
  ).join('');
  const named = new Set([...TARGETS, ...alarms].flatMap(({ expr }) => metricsIn(expr)));
  // Where services have processes of their own, teams are a label, content is logged, hooks check, or providers do batches, and traces are exported.
  const elsewhere = [
    'gateway_service_addresses',
    'gateway_team_cost_usd_total',
    'gateway_content_log_lost_total',
    'gateway_hook_checks_total',
    'gateway_provider_batches_total',
    'gateway_spans_dropped_total',
  ];
  expect(
    [...named].filter((name) => !known.includes(`# TYPE ${name} `) && !elsewhere.includes(name)),
  ).toEqual([]);
});
