import type { ReceivedSpan } from '@gateway/testkit/start-otlp-receiver';

/** What differs from run to run. */
const CHANGING =
  /^(gateway\.(request|usage|key|job|batch|webhook)\.id|messaging\.message\.id|server\.port|gen_ai\.response\.(id|time_to_first_chunk)|gateway\.job\.queued_ms|session\.id)$/;

/** Ids within texts. */
const RANDOM = /[0-9a-f]{32}/g;

/** Spans as an indented tree, for golden files: roots first, those below one in the order in which they began. */
export function spanTree(spans: readonly ReceivedSpan[]): string {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const isRoot = ({ parentSpanId }: ReceivedSpan) => parentSpanId === null || !known.has(parentSpanId);
  const inOrder = spans.toSorted(
    (one, other) => one.startTimeUnixNano - other.startTimeUnixNano || one.name.localeCompare(other.name),
  );
  const linesOf = (span: ReceivedSpan, depth: number): string[] => [
    `${'    '.repeat(depth)}${headOf(span)}`,
    ...attributesOf(span).map((line) => `${'    '.repeat(depth)}  ${line}`),
    ...inOrder
      .filter(({ parentSpanId }) => parentSpanId === span.spanId)
      .flatMap((child) => linesOf(child, depth + 1)),
  ];
  return `${inOrder
    .filter(isRoot)
    .flatMap((root) => linesOf(root, 0))
    .join('\n')}\n`;
}

function headOf({ kind, name, status, links, resource }: ReceivedSpan): string {
  const failed = status.code === 2 ? ' failed' : '';
  const linked = links.length > 0 ? ` links=${links.length}` : '';
  return `${kind} "${name}"${failed}${linked} by ${String(resource['service.name'])}`;
}

const attributesOf = ({ attributes }: ReceivedSpan): string[] =>
  Object.entries(attributes)
    .map(
      ([name, value]) => `${name}: ${CHANGING.test(name) ? '…' : JSON.stringify(value).replace(RANDOM, '…')}`,
    )
    .toSorted();
