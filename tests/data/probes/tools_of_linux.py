"""Experiments that tell Linux what to do with packets: nft, tc, ip, tcpdump, descriptors."""
from lib import *


def nft(rule):
    text = 'table netdev t {\n chain c {\n type filter hook ingress device v1 priority 0;\n %s\n }\n}'
    return subprocess.run(['nft', '-f', '-'], text=True, capture_output=True, input=text % rule).stderr


def sends(count=4, before='', after='', **aq):
    said = sh(before)
    p = Pair(aq={'TIMEOUT': 14, **aq})
    for i in range(count):
        p.B.recv(i)
        p.A.send(10 + i)
    p.wait(2 * count)
    sh(after)
    return [[w['wr_id'], w['status']] for w in p.wc['A.send']], len(p.wc['B.recv']), said


def plain():
    return sends()


def every_third():
    nft('@th,64,8 { 0x04, 0x05 } numgen inc mod 3 0 counter drop')
    return sends()


def over_quota():
    nft('ip saddr 10.0.0.1 udp dport 4791 quota over 160 bytes drop')
    return sends(RETRY_CNT=1)


def accepted_first():
    nft('@th,136,24 < 0x202 accept; udp dport != 53 drop')
    return sends(RETRY_CNT=1)


def unknown_rule():
    return nft('ct state new drop')


def slow():
    return sends(before='tc qdisc add dev v0 root netem delay 20ms 1ms 25%; tc qdisc add dev v0 root tbf 2>&1',
                 after='tc qdisc del dev v0 root')


def lossy():
    return sends(before='tc qdisc add dev v1 root netem loss 40% duplicate 30%', after='tc qdisc del dev v1 root')


def reordered():
    return sends(before='tc qdisc add dev v0 root netem delay 5ms reorder 100% gap 2', after='tc qdisc del dev v0 root')


def unplugged():
    return sends(1, before='ip link set v1 down', after='ip link set v1 up', RETRY_CNT=0)


def waits_on_a_descriptor():
    p = Pair(b=dict(chan=True))
    shown = [int(f) for f in os.listdir('/proc/self/fd') if os.path.islink('/proc/self/fd/' + f)
             and 'infinibandevent' in os.readlink('/proc/self/fd/' + f)]
    fds = [fd for fd in shown if fd not in (p.na.afd, p.nb.afd)]
    p.B.rcq.req_notify()
    before = select.select(fds, [], [], 0.1)[0]
    p.B.recv(1)
    p.A.send(2)
    return len(shown), before == [], select.select(fds, [], [], 0.1)[0] == fds


def waits_for_ever():
    p = Pair(b=dict(chan=True))
    p.B.chan.get_cq_event(p.B.rcq)


def crashes():
    p = Pair('UD')
    p.A.send(2)


def fails():
    raise KeyError('x')


def main(names):
    os.makedirs(OUT)
    tap = subprocess.Popen(['tcpdump', '-i', 'v1', '-w', OUT + '/plain.pcap'], stderr=subprocess.PIPE)
    tap.stderr.readline()
    found = {'plain': isolated(plain)}
    tap.send_signal(signal.SIGINT)
    tap.wait()
    for name in names:
        found[name] = isolated(globals()[name], 20)
        sh('nft flush ruleset')
    save('found.json', found)


main(sys.argv[1:])
