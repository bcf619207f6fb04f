import { Anchor, Group, Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef } from 'react';

interface StepProps {
  /** From 1. */
  readonly number: number;
  readonly title: string;
  readonly state: 'ahead' | 'open' | 'done';
  /** What came of it, once it is done. */
  readonly outcome?: ReactNode;
  /** Opens it again; absent: it cannot be taken back. */
  readonly onChange?: (() => void) | undefined;
  readonly children: ReactNode;
}

/** One step of a way: what came of it, what is to do in it, or only its name. */
export function Step({ number, title, state, outcome, onChange, children }: StepProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isOpen = state === 'open';
  useEffect(() => {
    // The first one opens with the page.
    if (isOpen && number > 1) heading.current?.focus();
  }, [isOpen, number]);
  return (
    <Paper withBorder p="md" component="li" aria-current={isOpen ? 'step' : undefined}>
      <Stack gap="sm">
        <Group gap="sm" wrap="nowrap" align="flex-start">
          <ThemeIcon
            size={24}
            radius="xl"
            variant={isOpen ? 'filled' : 'light'}
            {...(!isOpen && { color: state === 'done' ? 'teal' : 'gray' })}
            aria-hidden
          >
            {state === 'done' ? <IconCheck size={14} aria-hidden /> : number}
          </ThemeIcon>
          <Stack gap={2} flex={1} miw={0}>
            <Title order={3} size="h5" ref={heading} tabIndex={-1} lh="24px" style={{ outline: 'none' }}>
              {title}
            </Title>
            {state === 'done' && outcome !== undefined && (
              <Text size="sm" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
                {outcome}
              </Text>
            )}
          </Stack>
          {state === 'done' && onChange !== undefined && (
            <Anchor
              component="button"
              type="button"
              size="sm"
              onClick={onChange}
              aria-label={`Change: ${title}`}
            >
              Change
            </Anchor>
          )}
        </Group>
        {isOpen && children}
      </Stack>
    </Paper>
  );
}
