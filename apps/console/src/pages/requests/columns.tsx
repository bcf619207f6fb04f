import { Stack, Text } from '@mantine/core';
import type { ShownRequest } from '../../api/types.ts';
import { cost, milliseconds, shortNumber } from '../../parts/numbers.ts';
import { TwoLines } from '../../parts/table/cell-text.tsx';
import type { Column } from '../../parts/table/virtual-table.tsx';
import { timeFormat } from '../../parts/time-zone.ts';
import { OutcomeBadge } from '../traffic/outcome-badge.tsx';
import { ValueLink } from '../traffic/value-link.tsx';

const clock = timeFormat({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const date = timeFormat({ day: 'numeric', month: 'short' });

/** What a request used, by the most important of its counts. */
function used({ consumption }: ShownRequest): { first: string; second: string } {
  const { inputTokens, outputTokens, images, characters, audioSeconds } = consumption;
  if (inputTokens + outputTokens > 0)
    return { first: `${shortNumber(inputTokens)} in`, second: `${shortNumber(outputTokens)} out` };
  if (images > 0) return { first: `${images} ${images === 1 ? 'image' : 'images'}`, second: '' };
  if (characters > 0) return { first: shortNumber(characters), second: 'characters' };
  return audioSeconds > 0
    ? { first: milliseconds(audioSeconds * 1000), second: 'of audio' }
    : { first: '–', second: '' };
}

export const COLUMNS: readonly Column<ShownRequest>[] = [
  {
    id: 'time',
    header: 'Started',
    width: '76px',
    onNarrow: true,
    cell: ({ startedAt }) => {
      const at = new Date(startedAt);
      return <TwoLines first={clock(at)} second={date(at)} />;
    },
  },
  {
    id: 'model',
    header: 'Model → channel',
    width: 'minmax(0, 2fr)',
    onNarrow: true,
    cell: ({ model, endpoint, channel }) => (
      <TwoLines
        first={<ValueLink group="model" value={model} look="plain" />}
        second={
          <>
            {endpoint} → <ValueLink group="channel" value={channel ?? ''} look="plain" />
          </>
        }
      />
    ),
  },
  {
    id: 'key',
    header: 'Key',
    width: 'minmax(0, 1.4fr)',
    cell: ({ keyId, team }) => (
      <TwoLines
        first={<ValueLink group="keyId" value={keyId} look="plain" />}
        second={<ValueLink group="team" value={team ?? ''} look="plain" />}
      />
    ),
  },
  {
    id: 'outcome',
    header: 'Outcome',
    width: '104px',
    onNarrow: true,
    cell: ({ outcome, errorCode, attempts }) => (
      <Stack gap={2} align="flex-start">
        <OutcomeBadge of={outcome} />
        {(errorCode !== null || attempts > 1) && (
          <Text size="xs" c="dimmed" truncate w="100%" title={errorCode ?? undefined}>
            {errorCode ?? `${attempts} attempts`}
          </Text>
        )}
      </Stack>
    ),
  },
  {
    id: 'total',
    header: 'Time',
    width: '108px',
    cell: ({ timing: { totalMs, firstOutputMs } }) => (
      <TwoLines
        first={milliseconds(totalMs)}
        second={firstOutputMs === null ? '' : `first ${milliseconds(firstOutputMs)}`}
      />
    ),
  },
  { id: 'used', header: 'Usage', width: '92px', cell: (request) => <TwoLines {...used(request)} /> },
  {
    id: 'cost',
    header: 'Cost',
    width: '92px',
    cell: ({ costMicroUsd, estimated }) => (
      <TwoLines first={cost(costMicroUsd)} second={estimated ? 'estimated' : ''} />
    ),
  },
];
