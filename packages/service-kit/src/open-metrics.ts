import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import { z } from 'zod';

export const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** As `Accept` names it: Prometheus asks for it before its own format. */
export const acceptsOpenMetrics = (accept: string | undefined): boolean =>
  accept?.includes('application/openmetrics-text') ?? false;

type MetricSamples = MetricObjectWithValues<MetricValue<string>>;

/** An observation of a bucket that has a trace. The types of prom-client do not have it. */
const WithExemplar = z.object({
  exemplar: z.object({
    labelSet: z.record(z.string(), z.string()),
    value: z.number(),
    timestamp: z.number(),
  }),
});
const WithMetricName = z.object({ metricName: z.string() });

/**
 * Writes metrics as OpenMetrics. prom-client does so for a registry that has this format alone, and renames the counters in it; those
 * of ours have both.
 *
 * @see https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
 */
export function writeOpenMetrics(parts: readonly (readonly MetricSamples[])[]): string {
  const families = Map.groupBy(parts.flat(), ({ name }) => name);
  const lines: string[] = [];
  for (const [name, metrics] of families) {
    const [{ help, type } = { help: '', type: 'unknown' }] = metrics;
    const isCounter = String(type) === 'counter';
    const family = isCounter ? name.replace(/_total$/, '') : name;
    lines.push(`# HELP ${family} ${escaped(help)}`, `# TYPE ${family} ${type}`);
    for (const { values } of metrics)
      for (const value of values) lines.push(sampleLine(value, isCounter ? `${family}_total` : name));
  }
  return `${lines.join('\n')}\n# EOF\n`;
}

function sampleLine(sample: MetricValue<string>, ownName: string): string {
  const name = WithMetricName.safeParse(sample).data?.metricName ?? ownName;
  const line = `${name}${labelsOf(sample.labels)} ${numberOf(sample.value)}`;
  const exemplar = WithExemplar.safeParse(sample).data?.exemplar;
  if (exemplar === undefined) return line;
  return `${line} # ${labelsOf(exemplar.labelSet)} ${numberOf(exemplar.value)} ${exemplar.timestamp}`;
}

function labelsOf(labels: Readonly<Record<string, string | number | undefined>>): string {
  const shown = Object.entries(labels).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${escaped(String(value)).replaceAll('"', '\\"')}"`],
  );
  return shown.length === 0 ? '' : `{${shown.join(',')}}`;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

const numberOf = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
};
