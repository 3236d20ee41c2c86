import type { Question } from '../question';
import { asMarkdown, type Measured } from '../report';

/** What stands above the figures: which driver to take, in words that no run changes. */
const CHOICE = `# Timers

Which to take:

- **You have only Postgres**: \`postgres\`. Nothing else to run, and it rings within milliseconds.
- **You have Redis**: \`bullmq\` (the default) where its board and its tools are wanted, \`redis-zset\` where they are not.
- **You have a Redis Cluster**: the same two, over several hash tags, so that no master carries all alarms.
- **You have RabbitMQ and no Redis**: \`rabbitmq\`. It takes nothing back and lists nothing; the sweep covers both.
- **You have NATS 2.12 or newer**: \`nats\`, the one broker that dedupes, takes back and lists.
- **You have RocketMQ 5**: \`rocketmq\`, with slots: it takes one or two thousand alarms a second, and rings fewer. It cannot tell that it
  has lost everything: then only the next 25 seconds are armed anew.
- **One process, or exact to 50 ms**: \`wheel\`, whose alarms survive a kill; \`memory\` where they need not.
- **10,000 orders a second**: any that is not \`redis-keyspace\`, with slots (\`TIMER_GRANULARITY=100ms\`): then there are
  ten alarms a second, and the database is the limit.
- **Never for the sake of it**: \`redis-list\` and \`redis-keyspace\` are here to be compared.
- **Without lastcall**: what waits in the process or in Redis is lost with it (\`setTimeout\`, a job an order, a key that
  expires), and nobody is told; what waits in Postgres (a poll, pg-boss, graphile-worker, DBOS) is not, and comes as late
  as its interval and its queue of transactions: see \`drivers-faults\` below.

What each can do, and was seen to do, stands in [drivers.md](drivers.md). Why \`bullmq\` is the default:
[ADR 35](adr/0035-timer-drivers-say-what-they-can-do.md).`;

export function timersPage(
  questions: readonly Question[],
  kept: Readonly<Record<string, Measured>>,
): string {
  const measured = asMarkdown(questions, kept)
    .split('\n\n')
    // The title, and how to read the other page's goals: here are none.
    .toSpliced(0, 3)
    .join('\n\n')
    // A minute of even load holds its own repetitions.
    .replaceAll(/Medians of \d+, the ways taking turns/g, 'One run of each, one after the other');
  return `${CHOICE}\n\n${measured}`;
}
