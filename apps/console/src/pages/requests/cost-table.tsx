import { Table, Text } from '@mantine/core';
import type { ShownRequest } from '../../api/types.ts';
import { cost, milliseconds, price, wholeNumber } from '../../parts/numbers.ts';

type Line = ShownRequest['cost'][number];

const MICRO = 1e6;
const MS_PER_MINUTE = 60_000;
const THOUSAND = 1000;

const LABELS: Readonly<Record<string, string>> = {
  input: 'Input',
  cachedInput: 'Cached input',
  cacheWrite: 'Cache writes',
  cacheWrite1h: 'One-hour cache writes',
  output: 'Output',
  reasoning: 'Reasoning',
  audioInput: 'Audio input',
  cachedAudioInput: 'Cached audio input',
  imageInput: 'Image input',
  cachedImageInput: 'Cached image input',
  audioOutput: 'Audio output',
  image: 'Images',
  characters: 'Text to speak',
  minute: 'Audio',
  request: 'The request',
};

/** `1,200 × $1.25 / 1M` */
function arithmetic({ amount, unit, unitUsd }: Line): string {
  if (unit === MICRO) return `${wholeNumber(amount)} × ${price(unitUsd)} / 1M`;
  if (unit === MS_PER_MINUTE) return `${wholeNumber(amount / 1000)} s × ${price(unitUsd)} / min`;
  if (unit === THOUSAND) return `${wholeNumber(amount)} × ${price(unitUsd)} / 1K`;
  return `${wholeNumber(amount)} × ${price(unitUsd)}`;
}

/** What a request cost: a line for each price that was applied, and their sum. */
export function CostTable({ of: { cost: lines, costMicroUsd, otherMicroUsd } }: { of: ShownRequest }) {
  if (costMicroUsd === null)
    return (
      <Text size="sm">The model has no price, so the cost is unknown. Set a price in gateway.yaml.</Text>
    );
  return (
    <Table layout="fixed" verticalSpacing={4} horizontalSpacing={0} aria-label="Cost">
      <Table.Tbody>
        {lines.map((line) => (
          <Row
            key={line.tool ?? line.kind}
            name={line.tool === undefined ? (LABELS[line.kind] ?? line.kind) : `Calls of ${line.tool}`}
            of={arithmetic(line)}
            microUsd={line.microUsd}
          />
        ))}
        {otherMicroUsd !== null && otherMicroUsd !== 0 && (
          <Row
            name="Other"
            of={lines.length === 0 ? 'at prices that were not recorded' : 'overtaken attempts, summaries'}
            microUsd={otherMicroUsd}
          />
        )}
      </Table.Tbody>
      <Table.Tfoot>
        <Table.Tr>
          <Table.Th colSpan={2}>Total</Table.Th>
          <Table.Th ta="end">{cost(costMicroUsd)}</Table.Th>
        </Table.Tr>
      </Table.Tfoot>
    </Table>
  );
}

const Row = ({ name, of, microUsd }: { name: string; of: string; microUsd: number }) => (
  <Table.Tr>
    <Table.Td>{name}</Table.Td>
    <Table.Td c="dimmed">{of}</Table.Td>
    <Table.Td ta="end" w={90}>
      {price(microUsd / MICRO)}
    </Table.Td>
  </Table.Tr>
);

/** What a request used, by kind. Only kinds above zero are shown. */
export function usedOf({ consumption }: ShownRequest): (readonly [string, string])[] {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = consumption;
  const { cacheWrite1hTokens = 0, audioInputTokens = 0, audioOutputTokens = 0 } = consumption;
  const { imageInputTokens = 0 } = consumption;
  const { images, characters, audioSeconds } = consumption;
  const counts: (readonly [string, number])[] = [
    ['Input tokens', inputTokens],
    ['of which cached', cachedInputTokens],
    ['of which written to the cache', cacheWriteTokens],
    ['of which for one hour', cacheWrite1hTokens],
    ['of which audio input', audioInputTokens],
    ['of which image input', imageInputTokens],
    ['Output tokens', outputTokens],
    ['of which audio output', audioOutputTokens],
    ['of which reasoning', reasoningTokens],
    ['Images', images],
    ['Characters', characters],
  ];
  const tools = Object.entries(consumption.toolCalls ?? {});
  const shown = [...counts, ...tools.map(([tool, count]) => [`Calls of ${tool}`, count] as const)]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => [name, wholeNumber(count)] as const);
  const all = audioSeconds > 0 ? [...shown, ['Audio', milliseconds(audioSeconds * 1000)] as const] : shown;
  return all.length === 0 ? [['Tokens', 'none']] : all;
}
