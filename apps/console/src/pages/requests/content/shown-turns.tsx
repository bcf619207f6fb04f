import { Anchor, Code, Paper, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import classes from './content.module.css';
import type { Piece, Turn } from './turns.ts';

/** Turns of a conversation, one below the other. */
export function Turns({ of: turns, label }: { of: readonly Turn[]; label: string }) {
  return (
    <Stack gap="xs" component="ol" className={classes.turns} aria-label={label}>
      {turns.map((turn, at) => (
        <Paper key={at} component="li" withBorder p="xs" className={classes.turn} data-role={turn.role}>
          <Text size="xs" fw={600}>
            {turn.role}
          </Text>
          <Stack gap={6}>
            {turn.pieces.map((one, index) => (
              <ShownPiece key={index} of={one} />
            ))}
          </Stack>
        </Paper>
      ))}
    </Stack>
  );
}

const TITLES: Readonly<Record<Exclude<Piece['kind'], 'text'>, string>> = {
  reasoning: 'Reasoning',
  call: 'Tool call',
  result: 'Tool result',
  other: 'Other content',
};

function ShownPiece({ of: { kind, name, text } }: { of: Piece }) {
  if (kind === 'text') return <LongText text={text} />;
  return (
    <details>
      <summary className={classes.summary}>
        {TITLES[kind]}
        {name !== null && name !== '' && (
          <>
            {' '}
            <code>{name}</code>
          </>
        )}
      </summary>
      {kind === 'reasoning' ? <LongText text={text} /> : <Block text={text} />}
    </details>
  );
}

/** Longer texts are folded. */
const MAX_SHOWN = 1500;

function LongText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > MAX_SHOWN;
  return (
    <>
      <Text size="sm" className={classes.text}>
        {isLong && !isWhole ? `${text.slice(0, MAX_SHOWN)}…` : text}
      </Text>
      {isLong && (
        <Anchor component="button" type="button" size="sm" ta="start" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </Anchor>
      )}
    </>
  );
}

export const Block = ({ text }: { text: string }) => (
  <Code block className={classes.block} tabIndex={0}>
    {text}
  </Code>
);
