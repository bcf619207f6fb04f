import { Group, Paper, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Preset, Range } from '../traffic/time-range.ts';
import type { Filter } from '../traffic/usage-query.ts';

interface PartProps {
  readonly title: string;
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a page, as of a key's or a team's. */
export const Part = ({ title, beside, children }: PartProps) => (
  <Paper withBorder p="md" component="section" aria-label={title}>
    <Group gap="xs" mb="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      {beside}
    </Group>
    <Stack gap="sm">{children}</Stack>
  </Paper>
);

/** Which usage a part is of. */
export interface PartView {
  readonly range: Range;
  readonly fallback: Preset;
  readonly only: Filter;
}
