import { List, Stack, Text, Title } from '@mantine/core';
import type { Draft } from '../../../api/types.ts';
import classes from './edit.module.css';

/** What differs between the draft and the configuration in use: in words, and line by line. */
export function DraftChanges({ of: { changes, diff } }: { of: Pick<Draft, 'changes' | 'diff'> }) {
  if (diff === '')
    return (
      <Text size="sm" c="dimmed">
        No changes yet.
      </Text>
    );
  return (
    <Stack gap="sm">
      <Title order={2} size="h5">
        In words
      </Title>
      {changes.length === 0 ? (
        <Text size="sm" c="dimmed">
          Only comments, spaces or the order of entries differ.
        </Text>
      ) : (
        <List size="sm" spacing={4}>
          {changes.map(({ text }) => (
            <List.Item key={text} style={{ overflowWrap: 'anywhere' }}>
              {text}
            </List.Item>
          ))}
        </List>
      )}
      <Title order={2} size="h5">
        Line by line
      </Title>
      {diff === null ? (
        <Text size="sm" c="dimmed">
          Too much differs to be shown line by line.
        </Text>
      ) : (
        <Diff of={diff} />
      )}
    </Stack>
  );
}

/** Lines of a unified diff that name the files, and not a part of them. */
const HEADER = /^(?:---|\+\+\+) /;
const LOOKS: Readonly<Record<string, string | undefined>> = {
  '+': classes.added,
  '-': classes.removed,
  '@': classes.place,
};

function Diff({ of }: { of: string }) {
  const [, , ...lines] = of.trimEnd().split('\n');
  const shown = HEADER.test(of) ? lines : of.split('\n');
  return (
    <Text component="pre" className={classes.diff} tabIndex={0} aria-label="Diff">
      {shown.map((line, at) => (
        // Lines may be alike.
        <span key={`${at} ${line}`} className={`${classes.line} ${LOOKS[line.charAt(0)] ?? ''}`}>
          {line || ' '}
        </span>
      ))}
    </Text>
  );
}
