import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './facts.module.css';

/** Names with their values, in two columns. */
export const Facts = ({ of }: { of: readonly (readonly [string, ReactNode])[] }) => (
  <dl className={classes.facts}>
    {of.map(([name, value], at) => (
      // Some say the same of different things.
      <div key={`${at} ${name}`} className={classes.fact}>
        <Text component="dt" size="sm" c="dimmed">
          {name}
        </Text>
        <Text component="dd" size="sm" className={classes.value}>
          {value}
        </Text>
      </div>
    ))}
  </dl>
);

/** Names side by side; null stands for all of them. */
export const Names = ({ of }: { of: readonly string[] | null }) =>
  of === null ? (
    'all'
  ) : (
    <Group gap={4}>
      {of.map((name) => (
        <Badge key={name} variant="default" fw={400}>
          {name}
        </Badge>
      ))}
    </Group>
  );
