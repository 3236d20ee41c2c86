import type { Rewound } from '@app/orders';
import { instant } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { countText } from '../../text/wording';

export default class EventsRewind extends OpsCommand {
  static override summary = 'Send order events to the event stream again';
  static override description =
    'For a stream that was lost, and after a dump and restore or a move to another cluster, where ' +
    'the relay would otherwise never see what is new (doctor tells). Consumers get events twice, ' +
    'which they know by their ids. A worker sends them.';
  static override examples = [
    '<%= config.bin %> events rewind --reason "restored from the dump of tonight"',
    '<%= config.bin %> events rewind --to 2h --reason "Redis was emptied"',
  ];
  static override flags = {
    to: instant({
      description: 'from what was written then; default: 5 minutes before the last one was sent',
    }),
    ...ACCOUNTABILITY,
  };

  async run(): Promise<Rewound> {
    const { flags } = await this.parse(EventsRewind);
    const { rewindEvents } = await this.installation();
    const { to, actor, reason } = flags;
    const rewound = await rewindEvents.rewind({ actor, reason, ...(to ? { to } : {}) });
    if (rewound.wasStuck) this.log('The relay sees new events again');
    const since = rewound.sentFrom.toISOString();
    this.log(`${countText(rewound.events, 'event')} since ${since} will be sent again`);
    return rewound;
  }
}
