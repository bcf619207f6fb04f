import { expect, test } from 'vitest';
import { createMetrics, createPartMetrics, createSharedPage, pageOf } from './metrics.ts';
import { acceptsOpenMetrics } from './open-metrics.ts';

const OK = { endpoint: '/v1/responses', status: 200, outcome: 'ok' } as const;
const ID = '0af7651916cd43dd8448eb211c80319c';
const bucketOf = (page: string, le: string) =>
  page
    .split('\n')
    .find(
      (line) => line.startsWith('gateway_request_duration_seconds_bucket') && line.includes(`le="${le}"`),
    );

test('the duration of a sampled request has its trace as an example, in OpenMetrics alone', async () => {
  const metrics = createMetrics('text', { exemplars: true });
  metrics.request(OK, 300, { shownId: ID });
  metrics.request(OK, 10, { shownId: undefined });
  metrics.request(OK, 10);
  const page = pageOf(metrics);
  const shown = await page.openMetrics.text();
  expect(bucketOf(shown, '0.5')).toMatch(new RegExp(`} 3 # {trace_id="${ID}"} 0.3 \\d+(\\.\\d+)?$`));
  expect(bucketOf(shown, '0.02')).toMatch(/} 2$/);
  expect(shown.endsWith('# EOF\n')).toBe(true);
  const plain = await page.text();
  expect(plain).not.toContain(ID);
  expect(bucketOf(plain, '0.5')).toMatch(/} 3$/);
});

test('a counter is named as each of the two formats names it, however often either is read', async () => {
  const metrics = createMetrics('text');
  metrics.request(OK, 10);
  const { text, openMetrics } = pageOf(metrics);
  for (let n = 0; n < 2; n += 1) {
    expect(await openMetrics.text()).toContain('# TYPE gateway_requests counter\ngateway_requests_total{');
    expect(await text()).toContain('# TYPE gateway_requests_total counter\ngateway_requests_total{');
  }
});

test('a page of several parts has each metric once, with the samples of all parts', async () => {
  const parts = ['edge', 'text'].map((name) => createPartMetrics(name, { exemplars: true }));
  for (const part of parts) part.request(OK, 10, { shownId: ID });
  const page = await createSharedPage('gateway', parts).openMetrics.text();
  expect(page.match(/# TYPE gateway_request_duration_seconds histogram/g)).toHaveLength(1);
  expect(page.match(/# {trace_id=/g)).toHaveLength(2);
  for (const service of ['edge', 'text']) expect(page).toContain(`service="${service}"`);
});

test('labels are escaped, and what is no number is written as the format writes it', async () => {
  const metrics = createMetrics('text');
  metrics.brokenRecord('a "quoted" \\ and\nbroken one');
  const page = await pageOf(metrics).openMetrics.text();
  expect(page).toContain('kind="a \\"quoted\\" \\\\ and\\nbroken one"');
  expect(page).not.toMatch(/ (Nan|Infinity)( |$)/m);
});

test('it is asked for by Accept', () => {
  expect(acceptsOpenMetrics('application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2')).toBe(true);
  expect(acceptsOpenMetrics('text/plain')).toBe(false);
  expect(acceptsOpenMetrics(undefined)).toBe(false);
});
