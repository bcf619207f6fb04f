import { Anchor, List, Text } from '@mantine/core';
import type { Mistake } from '../../api/types.ts';

/** What is wrong and what belongs there, without the position. */
export const mistakeText = ({ path, found, expected }: Mistake): string =>
  `${path === '' ? '' : `${path}: `}found ${found}, expected ${expected}.`;

interface MistakeListProps {
  readonly of: readonly Mistake[];
  /** Shows the line; absent: the text is not there to be shown. */
  readonly onGoTo?: (line: number, column: number) => void;
}

/** Mistakes in the order of the text, each with its line. */
export const MistakeList = ({ of, onGoTo }: MistakeListProps) => (
  <List size="sm" spacing={4} listStyleType="none">
    {of.map((mistake) => (
      <List.Item key={`${mistake.line} ${mistake.column} ${mistakeText(mistake)}`}>
        <Line of={mistake} onGoTo={onGoTo} />
        <Text span size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
          {mistakeText(mistake)}
        </Text>
      </List.Item>
    ))}
  </List>
);

function Line({ of: { line, column }, onGoTo }: { of: Mistake; onGoTo: MistakeListProps['onGoTo'] }) {
  if (line === null) return null;
  if (onGoTo === undefined)
    return (
      <Text span fw={600} size="sm" c="var(--mantine-color-text)">
        Line {line}:{' '}
      </Text>
    );
  return (
    <>
      <Anchor component="button" type="button" size="sm" fw={600} onClick={() => onGoTo(line, column ?? 1)}>
        Line {line}
      </Anchor>
      {': '}
    </>
  );
}
